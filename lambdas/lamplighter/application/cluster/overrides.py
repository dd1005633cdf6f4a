"""A window's settings of the ClusterPolicy: applied while a lease wants them, reverted when no lease does.

The lab's own settings belong to Helm. There is one ClusterPolicy, so there is one override at a time: the first lease
decides, and a lease that asks for the same joins. The ledger has the fields before they change.
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
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values.json_value import JsonValue

CLUSTER_POLICY = "cluster-policy"


@dataclass(frozen=True)
class OverrideResult:
    """The fields before the override, or why there is no override."""

    before: Before | None
    refused: Reason | None = None


def borrow(run: Run, wish: Mapping[str, JsonValue], connection: Connection) -> OverrideResult:
    """Apply a window's fields for its lease. May be repeated; raises TryLater where another lease is faster.

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
            raise TryLater(reason("gpu.override.racing", fields=kept.called()))
        if lease not in kept.holders:
            run.books().change_holders(kept, kept.held_by(lease, run.pool))
        return kept.before

    before = overrides.borrow(connection, PATH, fields, keep=keep)
    # The lease may be over by now, and its override reverted. Then revert this change as well.
    if over := run.over():
        run.books().keep_override(
            Override(CLUSTER_POLICY, PATH, fields, before, {lease: run.pool}, clock.now())
        )
        give_back_settings(run, None, connection)
        return OverrideResult(None, over)
    return OverrideResult(before)


def give_back_settings(run: Run, lab: Lab | None, connection: Connection) -> dict[str, object]:
    """Step GiveBack: revert what no running lease wants any more. May be repeated, and run late."""
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
            # Another lease joined meanwhile: apply it again.
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


def _taken(override: Override, holders: Mapping[str, str], lease: str) -> Reason:
    if lease in holders:
        return reason("gpu.override.lab-changed", lease=lease, fields=override.called())
    return reason("gpu.override.of-others", leases=tuple(sorted(holders)), fields=override.called())


def _asked(override: Override) -> dict[str, JsonValue]:
    """The values of the override, by dotted path."""
    values: dict[str, JsonValue] = {}
    for field in override.before.fields:
        part: JsonValue = dict(override.fields)
        for step in field.path:
            part = part[step] if isinstance(part, Mapping) else None
        values[field.called] = part
    return values
