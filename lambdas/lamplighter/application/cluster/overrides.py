"""What a window changes of the ClusterPolicy: put on while a lease wants it, given back when none does.

The lab's own settings belong to Helm. There is one ClusterPolicy, so one override at a time: who asks first is
heard, whoever asks for the same joins. What stood there is in the ledger before anything is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Conflict
from lamplighter.adapters.kubernetes import overrides
from lamplighter.adapters.kubernetes.cluster_policy import PATH
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.cluster.run import Run
from lamplighter.domain.gpu.overrides import Before, Override
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.values.json_value import JsonValue

CLUSTER_POLICY = "cluster-policy"


@dataclass(frozen=True)
class OverrideResult:
    """What became of a wish: what stood there before, or why it was not granted."""

    before: Before | None
    refused: str = ""


def borrow(run: Run, wish: Mapping[str, JsonValue], connection: Connection) -> OverrideResult:
    """Put a window's fields on for its lease. May be repeated; raises TryLater where others are faster.

    Raises OwnedElsewhere for a field that belongs neither to Helm nor to us.
    """
    lease, fields = run.lease or run.pool, {"spec": dict(wish)}
    standing = run.books().override(CLUSTER_POLICY)
    if standing is not None and standing.ended is None and standing.fields != fields:
        running = _in_force(run, standing.holders)
        if running:
            return OverrideResult(None, _taken(standing, running, lease))
        give_back_settings(run, None, connection)

    def keep(found: Before) -> Before:
        override = Override(CLUSTER_POLICY, PATH, fields, found, {lease: run.pool}, clock.now())
        kept = run.books().keep_override(override)
        if kept.fields != fields:
            raise TryLater(f"another lease is changing {kept.called()} at this very moment")
        if lease not in kept.holders:
            run.books().change_holders(kept, kept.held_by(lease, run.pool))
        return kept.before

    before = overrides.borrow(connection, PATH, fields, keep=keep)
    # This lease may be over by now and its override reverted: then revert this change as well.
    if over := run.over():
        run.books().keep_override(
            Override(CLUSTER_POLICY, PATH, fields, before, {lease: run.pool}, clock.now())
        )
        give_back_settings(run, None, connection)
        return OverrideResult(None, over)
    return OverrideResult(before)


def give_back_settings(run: Run, lab: Lab | None, connection: Connection) -> dict[str, object]:
    """Step GiveBack: what no running lease wants any more is Helm's again. May be repeated, however late."""
    del lab
    override = run.books().override(CLUSTER_POLICY)
    if override is None:
        return {"state": "nothing-borrowed"}
    staying = _in_force(run, override.holders) if override.ended is None else {}
    if staying:
        if staying != override.holders:
            run.books().change_holders(override, replace(override, holders=staying))
        return {"state": "kept", "holders": sorted(staying), "during": _asked(override)}
    after = overrides.give_back(connection, override.path, override.before)
    if override.ended is None:
        try:
            run.books().end_override(override, clock.now())
        except Conflict:
            # Somebody joined while it went back: it is theirs now.
            overrides.borrow(connection, override.path, dict(override.fields), keep=lambda _: override.before)
            raise
    return {
        "state": "given-back" if after else "gone",
        "before": override.before.values(),
        "during": _asked(override),
        "after": after.values() if after else {},
    }


def _in_force(run: Run, holders: Mapping[str, str]) -> dict[str, str]:
    """The holders whose lease still runs."""
    now, found = clock.now(), dict[str, str]()
    for pool in sorted(set(holders.values())):
        running = {lease.id for lease in run.leases_of(pool) if lease.in_force(now)}
        found |= {lease: pool for lease, where in holders.items() if where == pool and lease in running}
    return found


def _taken(override: Override, holders: Mapping[str, str], lease: str) -> str:
    if lease in holders:
        return f"the lab was changed while {lease} is open; {override.called()} stays as it opened with"
    who = " and ".join(sorted(holders))
    return f"{who}, which opened first, has changed {override.called()}; that is kept while it is open"


def _asked(override: Override) -> dict[str, JsonValue]:
    """What was put on, by dotted path."""
    values: dict[str, JsonValue] = {}
    for field in override.before.fields:
        part: JsonValue = dict(override.fields)
        for step in field.path:
            part = part[step] if isinstance(part, Mapping) else None
        values[field.called] = part
    return values
