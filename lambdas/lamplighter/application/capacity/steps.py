"""The capacity steps. Scale writes the size that the leases justify, AwaitNodes waits until the nodes run, Replace
replaces nodes whose GPUs failed, Release stops ordering nodes that do not come.

Only this function may raise a size. The drain chose the nodes that a partial shrink removes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.application.capacity import missing as missing_nodes
from lamplighter.application.capacity.outlived import replace_outlived
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.capacity.sizes import Direction, Order, Written, still_writing, write
from lamplighter.application.logs import logger
from lamplighter.application.run import command_of, drained, pool_of, result
from lamplighter.domain.audit import trail
from lamplighter.domain.audit.entry import CAPACITY, Entry
from lamplighter.domain.capacity.evidence import Claim, Instance, Seen
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.port import Awaited, Removal
from lamplighter.domain.capacity.shortage import Shortage, short_of
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import Stage, share
from lamplighter.errors import LamplighterError, TryLater
from lamplighter.lab.notice_kinds import SHORT
from lamplighter.reasons.document import document, one_line, read_line
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values import instant

NODES_PATIENCE = timedelta(minutes=10)
"""How long a launched instance may take until it runs. EC2 needs a minute or two; the workflow asks again anyway."""
CAUSE_WITHIN = timedelta(seconds=150)
"""A shortage is reported by then, even while other nodes boot: the contract says three minutes."""


def scale(run: Mapping[str, object], capacity: CapacityServices) -> dict[str, object]:
    """Step Scale: order the pool's whole target. An opening only adds nodes, a close only removes them."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if command.verb is Verb.OPEN and (lease is None or not lease.in_force(now)):
        return {
            "over": True,
            "reason": document(_over(lease, pool)),
            "target": 0,
            "desired_before": 0,
            "update_id": None,
        }
    holder = f"{command.verb.value} {command.id}"
    if command.verb is Verb.OPEN and lease is not None:
        replace_outlived(capacity, lease, holder)
    written = write(
        capacity,
        Order(
            pool=pool,
            holder=holder,
            who=command.by,
            direction=Direction.UP if command.verb is Verb.OPEN else Direction.DOWN,
            since=command.issued if lease is None else min(lease.closes, now),
            lease=lease.id if lease else None,
            leaving=drained(run),
        ),
    )
    if command.verb is Verb.OPEN and lease is not None:
        capacity.ledger.advance(pool, lease.id, LeaseState.OPENING, written.at)
        capacity.ledger.begin_stage(pool, lease.id, Stage.NODES, lease.nodes, written.at)
    if command.verb is Verb.CLOSE:
        for entry in trail.of_closing(pool, command.lease, result(run, "Drain"), now):
            capacity.ledger.append_audit(entry)
    return {
        "over": False,
        "target": written.target.nodes,
        "desired_before": written.before,
        "update_id": written.update_id,
        "at": instant.written(written.at),
        "reason": document(_sizes(written)),
    }


def await_nodes(run: Mapping[str, object], capacity: CapacityServices) -> dict[str, object]:
    """Step AwaitNodes: wait until every node's instance runs, or report fewer nodes with the reason."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(now):
        over = document(_over(lease, pool))
        return {"over": True, "reason": over, "wanted": 0, "instances": [], "shortage": None}
    if not lease.wanted:
        arrived = _arrived(lease.nodes, (), _without_money(lease))
        return arrived | ({"falls_back": True} if capacity.lab.pools[pool].fallback else {})
    order = result(run, "Scale")
    wanted = int(str(order.get("target", 0)))
    ordered, asked = _ordered(run, lease, wanted)
    seen = capacity.see(pool)
    wanted = _without_taken(wanted, lease, seen, capacity)
    # A controller may still list a replaced instance as staying.
    members = seen.there - {*lease.replaced, *lease.taken}
    running = [each for each in seen.alive if each.id in members and each.state == "running"]
    mine = share(lease.nodes, len(running), wanted)
    # Of nodes that pods bring, no number is awaited.
    awaited_nodes = mine if seen.dynamic else lease.nodes
    capacity.ledger.note_progress(pool, lease.id, Stage.NODES, mine, awaited_nodes, now)
    if seen.claims:
        _note_claims(capacity, lease, seen.claims, now)
    if len(running) >= wanted:
        return _arrived(wanted, running, None)
    if seen.dynamic:
        name = identity(capacity.lab, pool).name
        return _arrived(len(running), running, None) | {"with_pods": _with_pods(name, len(running), wanted)}
    update = order.get("update_id")
    awaited = Awaited(wanted, len(members), since=asked, now=now, order=str(update) if update else None)
    shortage = capacity.of(pool).troubles(pool, awaited, seen)
    booting = len(members) - len(running)
    leaving = {*lease.replaced, *lease.taken}
    going = [instance.id for instance in seen.existing if instance.id in leaving]
    if going and now - ordered < NODES_PATIENCE:
        # While they exist they use quota, capacity and addresses: a refusal now is no shortage.
        raise TryLater(
            reason(
                "capacity.await-replaced", running=len(running), wanted=wanted, pool=pool, nodes=tuple(going)
            )
        )
    # Without any node of it, a lease of a pool with a fallback moves. Until then AWS may still find some.
    moves = capacity.lab.pools[pool].fallback is not None and not share(lease.nodes, len(members), wanted)
    falls_back = {"falls_back": True} if moves else {}
    if shortage is not None and (members or moves) and not result(run, "Announce"):
        _announce_early(run, capacity, lease, _arrived(wanted, running, shortage) | falls_back)
    if shortage is not None and ((not booting and not moves) or now - ordered >= CAUSE_WITHIN):
        return _arrived(wanted, running, shortage) | falls_back
    if now - ordered >= NODES_PATIENCE:
        late = reason(
            "capacity.still-booting", booting=booting, minutes=NODES_PATIENCE // timedelta(minutes=1)
        )
        return _arrived(
            wanted, running, shortage or short_of(LaunchCause.UNKNOWN, len(running), wanted, late)
        )
    raise TryLater(
        reason("capacity.await-booting", running=len(running), wanted=wanted, pool=pool, booting=booting)
    )


def _without_taken(wanted: int, lease: Lease, seen: Seen, capacity: CapacityServices) -> int:
    """The nodes to await: AWS may have taken some since the order, and the lease go on with fewer."""
    return min(wanted, capacity.target(lease.pool, seen).nodes) if lease.taken else wanted


def _ordered(run: Mapping[str, object], lease: Lease, wanted: int) -> tuple[datetime, datetime]:
    """When this round ordered nodes or replaced some, and since when a refusal explains the missing ones."""
    order, replaced = result(run, "Scale"), result(run, "Replace").get("at")
    stamps = [instant.read(str(stamp)) for stamp in (order.get("at"), replaced) if stamp]
    ordered = max(stamps, default=lease.opens)
    if int(str(order.get("desired_before", 0))) < wanted:
        return ordered, ordered
    # This round ordered nothing new: failures since the replacement, or the first order, explain the missing nodes.
    return ordered, instant.read(str(replaced)) if replaced else min(lease.ordered or ordered, ordered)


def replace(run: Mapping[str, object], capacity: CapacityServices) -> dict[str, object]:
    """Step Replace: remove the nodes that Empty emptied, once for a lease. The desired size stays.

    The lease records them first: a second try removes the same nodes, a later round removes none.
    """
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(now):
        return {"over": True, "reason": document(_over(lease, pool)), "replaced": [], "at": None}
    with capacity.ledger.writing(pool, f"replace {command.id}", now) as fence:
        emptied = drained(run, "Empty")
        recorded = capacity.ledger.replace_once(lease, emptied, _replacing(lease, emptied, run, now))
        seen = capacity.see(pool)
        going = [member.instance for member in seen.staying if member.instance in recorded]
        still_writing(capacity, fence)
        capacity.of(pool).remove(pool, going, Removal.REPLACED, seen)
    return {"over": False, "replaced": list(recorded), "at": instant.written(now)}


def release(run: Mapping[str, object], capacity: CapacityServices) -> dict[str, object]:
    """Step Release: stop ordering the missing nodes of the lease; their hold is free until they are asked for again."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(capacity.now()):
        return {"over": True, "reason": document(_over(lease, pool)), "missing": 0}
    return {"over": False, "missing": missing_nodes.release(run, capacity, command, lease)}


def _replacing(lease: Lease, instances: Sequence[str], run: Mapping[str, object], now: datetime) -> Entry:
    what = reason("capacity.replaces", nodes=tuple(instances), lease=lease.called())
    why = read_line(result(run, "Validate").get("because")) or reason("capacity.gpus-failed")
    return Entry(now, lease.pool, "replaced", CAPACITY, what, why, lease.id, len(instances))


def _note_claims(capacity: CapacityServices, lease: Lease, claims: Sequence[Claim], now: datetime) -> None:
    # Loaded only for a pool with claims.
    from lamplighter.domain.leases.claim_stages import claim_stages  # noqa: PLC0415

    stages = claim_stages(claims, lease.opens, lease.nodes)
    capacity.ledger.note_boot(lease.pool, lease.id, stages, now)


def _without_money(lease: Lease) -> Shortage:
    return short_of(LaunchCause.UNKNOWN, 0, lease.nodes, reason("capacity.no-money-to-ask-again"))


def _with_pods(name: str, running: int, most: int) -> str:
    """Why a lease has fewer nodes than it may have, where pods bring them: as text, as a shortage is."""
    if not running:
        return one_line(reason("capacity.no-node-yet", name=name, most=most))
    return one_line(reason("capacity.more-with-pods", name=name, most=most))


def _arrived(wanted: int, running: Sequence[Instance], shortage: Shortage | None) -> dict[str, object]:
    return {
        "over": False,
        "wanted": wanted,
        "instances": [
            {"id": node.id, "launched": instant.written(node.launched), "zone": node.zone} for node in running
        ],
        # As text: the workflow asks whether it is a string.
        "shortage": one_line(shortage.reason) if shortage else None,
        "cause": shortage.cause.value if shortage else None,
        "refusal": shortage.details() if shortage else {},
    }


def _announce_early(
    run: Mapping[str, object], capacity: CapacityServices, lease: Lease, awaited: Mapping[str, object]
) -> None:
    """Have the shortage announced at once, once: the run itself does so when the nodes that come are proven.

    With no node there is nothing to prove, and the run announces it within a minute.
    """
    if capacity.ledger.command(lease.pool, f"{SHORT}-{lease.id}") is not None:
        return
    try:
        found = {"command": run.get("command"), "lease": lease.id, "results": {"AwaitNodes": awaited}}
        capacity.start_notice("AnnounceShortage", found)
    except LamplighterError as error:
        logger().warning("the shortage of %s is announced later: %s", lease.id, error)


def _lease(
    run: Mapping[str, object], command: Command, pool: str, capacity: CapacityServices
) -> Lease | None:
    """The run's lease as the ledger has it now: the lease that Admit granted, or that the command names."""
    granted = result(run, "Admit").get("lease") or run.get("lease")
    if isinstance(granted, Mapping):
        return capacity.ledger.lease(pool, str(granted["id"]))
    if command.verb is Verb.OPEN:
        return capacity.ledger.lease(pool, command.lease_id)
    return capacity.ledger.lease(pool, command.lease) if command.lease else None


def _over(lease: Lease | None, pool: str) -> Reason:
    if lease is None:
        return reason("capacity.no-such-lease", pool=pool)
    if lease.granted:
        return reason(
            "capacity.lease-not-in-force",
            lease=lease.called(),
            pool=pool,
            opens=lease.opens,
            closes=lease.closes,
        )
    return reason("capacity.lease-over", lease=lease.called(), pool=pool, state=lease.stands())


def _sizes(written: Written) -> Reason:
    why = written.target.reason
    if written.size == written.before:
        return reason("capacity.size-stays", nodes=written.size, why=why)
    return reason("capacity.size-changes", nodes=written.size, before=written.before, why=why)
