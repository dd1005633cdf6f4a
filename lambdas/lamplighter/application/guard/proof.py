"""The guard's steps in CloseLab: ProveZero, MarkLeaked, and ending AWS's own wait once a node is empty.

domain/capacity/zero.py says what counts as proof.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from lamplighter.application.guard.controllers import tell_not_ended
from lamplighter.application.guard.kubernetes import node_names, pool_nodes
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.shown import seen_anyhow
from lamplighter.application.run import drained, pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.evidence import Member, Part, Seen
from lamplighter.domain.capacity.kinds import zero as zero_of
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.capacity.zero import PROVEN, ZeroProof
from lamplighter.domain.guard import announcements
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.pool.drain import LEAVING, emptying, patience
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant

if TYPE_CHECKING:
    from lamplighter.domain.pool.nodes import NodeFacts


PROOF_PATIENCE = timedelta(minutes=30)
"""After so long without proof the pool is leaked."""


def prove_zero(run: Mapping[str, object], guard_services: GuardServices) -> dict[str, object]:
    """Step ProveZero: nothing is left of what this close takes. TryLater until then, `zero: false` after 30 minutes.

    Other leases may be in force: then the proof is that no more than their nodes are left.
    """
    capacity = guard_services.capacity
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    seen = seen_anyhow(capacity, pool, [])
    justified = capacity.target(pool, seen).nodes
    end_drains(guard_services, pool, seen, drained(run) if justified else None, _lease(run))
    zero = zero_of(seen, now, node_names(guard_services, pool), justified)
    found: dict[str, object] = {
        "zero": zero.proven,
        "target": justified,
        **zero.to_json(),
        "reason": document(zero.reason(pool)),
    }
    if zero.proven:
        # Written after the reads: every sweep from here on sees it.
        _note(guard_services, pool, run, capacity.now(), zero)
        return found
    ordered = result(run, "Scale").get("at")
    since = instant.read(str(ordered)) if ordered else instant.read(str(_command(run)["issued"]))
    if now - since < PROOF_PATIENCE:
        raise TryLater(_not_yet(pool, zero))
    return found


def mark_leaked(run: Mapping[str, object], guard_services: GuardServices) -> dict[str, object]:
    """Step MarkLeaked: the pool should be at zero and is not. From here the guard closes it again and pages."""
    capacity = guard_services.capacity
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    seen = seen_anyhow(capacity, pool, [])
    justified = capacity.target(pool, seen).nodes
    zero = zero_of(seen, now, node_names(guard_services, pool), justified)
    why = zero.reason(pool)
    if justified or zero.proven:
        return {"leaked": False, "since": None, "reason": document(why)}
    if capacity.ledger.mark_leaked(pool, now, why):
        leaked = reason("guard.leaked.now", pool=pool, left=why)
        paged = guard_services.page(pool, announcements.of_leak(pool, leaked))
        capacity.ledger.append_audit(
            Entry(
                at=now,
                pool=pool,
                kind="leaked",
                who="guard",
                what=reason("guard.did.page", pool=pool),
                why=leaked,
                details={"rule": Rule.LEAKED.value, "action": GuardAction.PAGE.value, "paged": paged},
            )
        )
    since = capacity.ledger.pool(pool).leaked_since or now
    return {"leaked": True, "since": instant.written(since), "reason": document(why)}


def end_drains(
    guard_services: GuardServices,
    pool: str,
    seen: Seen,
    only: Collection[str] | None = None,
    lease: str | None = None,
) -> list[str]:
    """End the controller's wait for every leaving node that is empty or had its time; evict the pods of the others.

    With `only`, for these instances alone: other nodes may leave for other reasons than leases. What a controller has
    not ended in its time is told, for `lease` where it goes with one.
    """
    alive = {instance.id for instance in seen.alive}
    waiting = [
        member
        for member in seen.members
        if member.waits_for_drain
        and (only is None or member.instance in only)
        and not (member.overdue and member.instance not in alive)
    ]
    if not waiting:
        return []
    nodes = _nodes(guard_services, pool)
    capacity = guard_services.capacity.of(pool)
    ended: list[str] = []
    for member in waiting:
        since = partial(_leaving_since, guard_services, pool, seen, member)
        if member.overdue or _may_end(guard_services, pool, nodes, since, member):
            capacity.remove(pool, (member.instance,), Removal.DRAINED, seen)
            ended.append(member.instance)
    overdue = [member.instance for member in waiting if member.overdue and member.instance in ended]
    if overdue:
        tell_not_ended(guard_services, pool, overdue, lease)
    return ended


def _nodes(guard_services: GuardServices, pool: str) -> "dict[str, NodeFacts] | None":
    nodes = pool_nodes(guard_services, pool)
    if nodes is None:
        return None
    return {node.instance: node for node in nodes}


def _may_end(
    guard_services: GuardServices,
    pool: str,
    nodes: "dict[str, NodeFacts] | None",
    leaving_since: Callable[[], datetime | None],
    member: Member,
) -> bool:
    from lamplighter.adapters.kubernetes import evictions, pods  # noqa: PLC0415 -- only while draining
    from lamplighter.adapters.kubernetes.nodes import cordon  # noqa: PLC0415

    now, given = guard_services.capacity.now(), patience(guard_services.capacity.lab.pools[pool].drain)
    connection = guard_services.kubernetes()
    if connection is None or nodes is None:
        since = leaving_since()
        return since is not None and now - since >= given
    node = nodes.get(member.instance)
    if node is None:
        return True
    leaving = instant.foreign(node.annotations.get(LEAVING))
    if leaving is None:
        cordon(connection, node.name, {LEAVING: instant.written(now)})
    work = emptying(pods.on_node(connection, node.name))
    if work.empty or (leaving is not None and now - leaving >= given):
        return True
    for pod in work.evict:
        evictions.evict(connection, pod)
    return False


def _leaving_since(guard_services: GuardServices, pool: str, seen: Seen, member: Member) -> datetime | None:
    for activity in guard_services.capacity.see(pool, {Part.LATEST}, seen).activities:
        if not activity.launches and activity.instance == member.instance:
            return activity.began
    return None


def _not_yet(pool: str, zero: ZeroProof) -> Reason:
    left = zero.reason(pool)
    if zero.justified:
        return reason("guard.zero.not-yet-at", pool=pool, nodes=zero.justified, left=left)
    return reason("guard.zero.not-yet", pool=pool, left=left)


def _note(
    guard_services: GuardServices, pool: str, run: Mapping[str, object], now: datetime, zero: ZeroProof
) -> None:
    lease = _command(run).get("lease")
    guard_services.capacity.ledger.append_audit(
        Entry(
            at=now,
            pool=pool,
            kind=PROVEN,
            who="guard",
            what=reason("guard.did.prove-at", pool=pool, nodes=zero.justified)
            if zero.justified
            else reason("guard.did.prove-zero", pool=pool),
            why=zero.reason(pool),
            lease=str(lease) if lease else None,
            nodes=zero.justified,
        )
    )
    if not zero.justified:
        guard_services.capacity.ledger.clear_leaked(pool)


def _lease(run: Mapping[str, object]) -> str | None:
    """The lease that this close ends: the command names it, or the step that has ended it."""
    named, ended = _command(run).get("lease"), result(run, "RestoreExperiments").get("closing")
    if named:
        return str(named)
    return str(ended[0]) if isinstance(ended, list) and ended else None


def _command(run: Mapping[str, object]) -> Mapping[str, object]:
    command = run.get("command")
    return command if isinstance(command, Mapping) else {}
