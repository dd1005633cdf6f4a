"""The guard's first law: what runs without a lease, past it or beside it is closed.

Never more than what leases leave over; how a close takes it away is CloseLab's.
"""

from collections.abc import Iterable, Iterator

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import END_PATIENCE, PoolFacts, waited_for
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.pool.evidence import NodeGroup, ScalingActivity, ScalingGroup
from lamplighter.values.counted import counted
from lamplighter.values.instant import clock_time

# What Auto Scaling writes for SetDesiredCapacity; EKS changes the group's sizes by UpdateAutoScalingGroup.
_SET_DIRECTLY = "explicitly set group desired capacity"


def leases_past_their_end(facts: PoolFacts) -> Iterator[Breach]:
    """A granted lease whose end is over and that nothing closes."""
    for lease in facts.leases:
        if not lease.granted or facts.now < lease.closes + END_PATIENCE:
            continue
        yield Breach(
            Rule.LEASE_PAST_ITS_END,
            f"{lease.called()} on pool {facts.pool} ended at {clock_time(lease.closes)} "
            "and nothing is closing it",
            Action.CLOSE,
            lease=lease.id,
            target=facts.target.nodes,
        )


def surplus(facts: PoolFacts) -> Iterator[Breach]:
    """More nodes than leases justify, or any without a lease, unless somebody is at it already."""
    target = facts.target
    if facts.staying <= target.nodes or waited_for(facts):
        return
    nodes = counted(facts.staying, "node")
    if target.nodes:
        yield Breach(
            Rule.MORE_NODES_THAN_LEASES,
            f"pool {facts.pool} has {nodes}, {facts.staying - target.nodes} more than its leases justify: "
            f"{target.reason}{facts.raised_by}",
            Action.CLOSE,
            target=target.nodes,
        )
        return
    yield Breach(
        Rule.NODE_WITHOUT_LEASE,
        f"pool {facts.pool} has {nodes} and no lease{_last_end(facts)}{facts.raised_by}",
        Action.CLOSE,
        target=0,
        since=facts.over_since,
    )


def strays(facts: PoolFacts) -> Iterator[Breach]:
    """Instances with the pool's tags outside its group, where even the group alone leaves no room for them."""
    surplus = facts.staying + len(facts.strays) - facts.target.nodes
    taken = tuple(stray.id for stray in facts.strays)[: max(0, surplus)]
    if taken:
        yield Breach(
            Rule.STRAY_INSTANCE,
            f"{', '.join(taken)}: carries the tags of pool {facts.pool}, is not in its group, "
            "and no lease justifies it",
            Action.TERMINATE,
            target=facts.target.nodes,
            instances=taken,
        )


def shortfall(facts: PoolFacts) -> Iterator[Breach]:
    """Nodes of an open lease that are not even ordered any more: said, for the guard never grows a pool."""
    target = facts.target
    settled = all(
        lease.state is LeaseState.OPEN and lease.ready is not None and not lease.missing
        for lease in facts.leases
        if lease.in_force(facts.now)
    )
    if settled and facts.group is not None and facts.staying < target.nodes and not waited_for(facts):
        yield Breach(
            Rule.FEWER_NODES_THAN_LEASES,
            f"somebody lowered pool {facts.pool} to {counted(facts.staying, 'node')}, and its leases justify "
            f"{target.nodes}: {target.reason}",
            Action.SAY,
        )


def raised_by(nodegroup: NodeGroup | None, group: ScalingGroup, activities: Iterable[ScalingActivity]) -> str:
    """Who asked for more, as the end of a sentence; empty where the scaling activities do not say.

    `activities` are the newest first.
    """
    launch = next((each for each in activities if each.launches), None)
    if launch is not None and _SET_DIRECTLY in launch.cause:
        return "; somebody set the group's desired capacity directly, as Cluster Autoscaler does"
    if nodegroup is not None and group.desired > nodegroup.desired:
        return "; its group was raised past EKS, as Cluster Autoscaler does"
    return ""


def _last_end(facts: PoolFacts) -> str:
    ended = [lease for lease in facts.leases if lease.closes <= facts.now and lease.opens < lease.closes]
    if not ended:
        return ""
    last = max(ended, key=lambda lease: lease.closes)
    return f"; {last.called()} ended at {clock_time(last.closes)}"
