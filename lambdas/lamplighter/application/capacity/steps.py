"""The node-group steps: Scale writes what the leases justify, AwaitNodes sees the nodes come, Replace changes a
node whose GPUs failed for a fresh one, Release gives up for a while what does not come.

The only function that may raise a size. Which nodes a partial shrink takes was chosen by the drain.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.application.capacity import missing as nodegroups_missing
from lamplighter.application.capacity.capacity import Capacity
from lamplighter.application.capacity.sizes import Direction, Order, Written, write
from lamplighter.application.run import command_of, drained, pool_of, result
from lamplighter.domain.audit import trail
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.progress import Stage, share
from lamplighter.domain.pool.evidence import Instance
from lamplighter.domain.pool.shortage import Shortage, explain
from lamplighter.errors import Stale, TryLater
from lamplighter.reasons.document import read_line
from lamplighter.values import instant

NODES_PATIENCE = timedelta(minutes=10)
"""An EC2 instance that was launched runs within a minute or two; the workflow comes back later anyway."""


CAUSE_WITHIN = timedelta(seconds=150)
"""A shortage is told by then, even while other nodes still boot: the promise is three minutes."""


def scale(run: Mapping[str, object], capacity: Capacity) -> dict[str, object]:
    """Step Scale: order the pool's whole target; for opening add only, for closing take only."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if command.verb is Verb.OPEN and (lease is None or not lease.in_force(now)):
        return {
            "over": True,
            "reason": _over(lease, pool),
            "target": 0,
            "desired_before": 0,
            "update_id": None,
        }
    written = write(
        capacity,
        Order(
            pool=pool,
            holder=f"{command.verb.value} {command.id}",
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
        "reason": _said(written),
    }


def await_nodes(run: Mapping[str, object], capacity: Capacity) -> dict[str, object]:
    """Step AwaitNodes: until every node's instance runs; with fewer, and why, where AWS has no more."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(now):
        return {"over": True, "reason": _over(lease, pool), "wanted": 0, "instances": [], "shortage": None}
    if not lease.wanted:
        return _arrived(lease.nodes, (), Shortage("unknown", _unpaid(lease)))
    order = result(run, "Scale")
    wanted = int(str(order.get("target", 0)))
    stamps = [found["at"] for found in (order, result(run, "Replace")) if found.get("at")]
    ordered = max((instant.read(str(each)) for each in stamps), default=lease.opens)
    # Where this round ordered nothing new, what failed since the first order explains what is missing.
    anew = int(str(order.get("desired_before", 0))) < wanted
    asked = ordered if anew else min(lease.ordered or ordered, ordered)
    seen = capacity.see(pool)
    # Auto Scaling may still list as staying what it was told to take out.
    listed = {member.instance for member in seen.group.staying} if seen.group else set()
    listed -= {*lease.replaced}
    members = [each for each in seen.alive if each.id in listed]
    running = [each for each in members if each.state == "running"]
    mine = share(lease.nodes, len(running), wanted)
    capacity.ledger.note_progress(pool, lease.id, Stage.NODES, mine, lease.nodes, now)
    if len(running) >= wanted:
        return _arrived(wanted, running, None)
    shortage = None
    if seen.nodegroup is not None:
        update = order.get("update_id")
        shortage = explain(
            wanted=wanted,
            have=len(members),
            nodegroup=seen.nodegroup,
            activities=capacity.autoscaling.activities(seen.group.name) if seen.group else (),
            update=capacity.nodegroups.update(seen.nodegroup.name, str(update)) if update else None,
            ordered=asked,
            now=now,
        )
    booting = len(members) - len(running)
    going = [each.id for each in seen.existing if each.id in lease.replaced]
    if going and now - ordered < NODES_PATIENCE:
        # Until they are gone they use up quota, capacity and addresses: what is refused now is no shortage.
        raise TryLater(
            f"{len(running)} of {wanted} nodes of pool {pool} run, {', '.join(going)} has yet to go"
        )
    if shortage is not None and (not booting or now - ordered >= CAUSE_WITHIN):
        return _arrived(wanted, running, shortage)
    if now - ordered >= NODES_PATIENCE:
        late = Shortage(
            "unknown",
            f"{len(running)} of {wanted} nodes: {booting} were launched and do not run after "
            f"{NODES_PATIENCE // timedelta(minutes=1)} minutes",
        )
        return _arrived(wanted, running, shortage or late)
    raise TryLater(f"{len(running)} of {wanted} nodes of pool {pool} run, {booting} are booting")


def replace(run: Mapping[str, object], capacity: Capacity) -> dict[str, object]:
    """Step Replace: take out the nodes that Empty emptied, once for a lease; the desired size stays.

    Which ones stands on the lease before anything is done: a second try takes the same, a later round none.
    """
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    now = capacity.now()
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(now):
        return {"over": True, "reason": _over(lease, pool), "replaced": [], "at": None}
    with capacity.ledger.writing(pool, f"replace {command.id}", now) as fence:
        emptied = drained(run, "Empty")
        recorded = capacity.ledger.replace_once(lease, emptied, _replacing(lease, emptied, run, now))
        group = capacity.see(pool).group
        going = [each.instance for each in group.staying if each.instance in recorded] if group else []
        try:
            capacity.ledger.still_writing(fence, capacity.now())
        except Stale as lost:
            raise TryLater(str(lost)) from lost
        for instance in going:
            capacity.autoscaling.replace(instance)
    return {"over": False, "replaced": list(recorded), "at": instant.written(now)}


def release(run: Mapping[str, object], capacity: Capacity) -> dict[str, object]:
    """Step Release: what the lease misses is ordered no more, and its hold is free until it is asked for again."""
    command = command_of(run)
    pool = pool_of(run, capacity.lab)
    lease = _lease(run, command, pool, capacity)
    if lease is None or not lease.in_force(capacity.now()):
        return {"over": True, "reason": _over(lease, pool), "missing": 0}
    return {"over": False, "missing": nodegroups_missing.release(run, capacity, command, lease)}


def _replacing(lease: Lease, instances: Sequence[str], run: Mapping[str, object], now: datetime) -> Entry:
    what = f"changes {', '.join(instances)} of {lease.called()} for fresh nodes, once"
    why = read_line(result(run, "Validate").get("because")) or "its GPUs failed a check"
    return Entry(now, lease.pool, "replaced", "nodegroups", what, why, lease.id, len(instances))


def _unpaid(lease: Lease) -> str:
    return (
        f"0 of {lease.nodes} nodes: none came, and the budget has nothing left to ask again with; "
        "they are asked for once it has"
    )


def _arrived(wanted: int, running: Sequence[Instance], shortage: Shortage | None) -> dict[str, object]:
    return {
        "over": False,
        "wanted": wanted,
        "instances": [
            {"id": each.id, "launched": instant.written(each.launched), "zone": each.zone} for each in running
        ],
        "shortage": shortage.sentence if shortage else None,
        "cause": shortage.cause if shortage else None,
    }


def _lease(run: Mapping[str, object], command: Command, pool: str, capacity: Capacity) -> Lease | None:
    """The run's lease as the ledger has it now: what Admit granted, or what the command names."""
    granted = result(run, "Admit").get("lease") or run.get("lease")
    if isinstance(granted, Mapping):
        return capacity.ledger.lease(pool, str(granted["id"]))
    if command.verb is Verb.OPEN:
        return capacity.ledger.lease(pool, command.lease_id)
    return capacity.ledger.lease(pool, command.lease) if command.lease else None


def _over(lease: Lease | None, pool: str) -> str:
    if lease is None:
        return f"there is no such lease on pool {pool}, so nothing is ordered for it"
    return (
        f"{lease.called()} on pool {pool} is {lease.state.value} or past its end: nothing is ordered for it"
    )


def _said(written: Written) -> str:
    change = (
        f"{written.size} nodes stay ordered"
        if written.size == written.before
        else f"{written.size} nodes are ordered, {written.before} before"
    )
    return f"{change}: {written.target.reason}"
