"""A node group as the port shows it: from what EKS, Auto Scaling and EC2 say to values that fit every kind."""

import re
from collections.abc import Iterable
from dataclasses import replace

from lamplighter.domain.capacity.evidence import Activity, Change, Changing, Controller, Member, Seen
from lamplighter.domain.capacity.node_group.evidence import NodeGroup, NodeGroupUpdate, ScalingActivity
from lamplighter.reasons.reason import Reason, reason

_INSTANCE = re.compile(r"\bi-[0-9a-f]+\b")
# What Auto Scaling writes for SetDesiredCapacity; EKS changes the group's sizes by UpdateAutoScalingGroup.
_SET_DIRECTLY = "explicitly set group desired capacity"
_WARMED = "Warmed:"
_STOPPED = {"stopping", "stopped"}
_CHANGES = {
    "CREATING": Changing.CREATING,
    "DELETING": Changing.DELETING,
    "UPDATING": Changing.UPDATING,
}


def change(node_group: NodeGroup) -> Change | None:
    """What the group's status tells: never which update, nor since when."""
    kind = _CHANGES.get(node_group.status)
    return Change(kind) if kind else None


def replacing(update: NodeGroupUpdate) -> Change:
    """A version update, which replaces the group's nodes."""
    return Change(Changing.REPLACING, update.created)


def member(instance: str, zone: str, lifecycle: str) -> Member:
    """An instance in its Auto Scaling group, by the state of its life there, such as Warmed:Terminating:Wait."""
    state = lifecycle.removeprefix(_WARMED)
    return Member(
        instance,
        zone,
        leaving=state.startswith("Terminat"),
        waits_for_drain=state == "Terminating:Wait",
        warm=state != lifecycle,
    )


def with_parked(seen: Seen) -> Seen:
    """The same, with the instances marked that a warm pool has stopped or hibernated."""
    group = seen.controller
    if group is None or not group.warm_pool:
        return seen
    instances = (
        replace(each, parked=each.controller == group.name and each.state in _STOPPED)
        for each in seen.instances
    )
    return replace(seen, instances=tuple(instances))


def with_members(seen: Seen, members: tuple[Member, ...]) -> Seen:
    """The same, with these members of its group beside those that it lists."""
    group = seen.controller
    return (
        seen
        if group is None
        else replace(seen, controller=replace(group, members=(*group.members, *members)))
    )


def activity(found: ScalingActivity) -> Activity:
    """One scaling activity. Its instance stands in its description only."""
    named = _INSTANCE.search(found.description)
    return Activity(
        instance=named[0] if named else "",
        launches=found.launches,
        began=found.started,
        ended=found.ended,
        failed=found.failed,
    )


def raised_by(
    ordered: int | None, controller: Controller, activities: Iterable[ScalingActivity]
) -> Reason | None:
    """How somebody raised the group; None where the scaling activities do not tell.

    `ordered` is the size that EKS knows, None where the node group does not exist. `activities` are the newest first.
    """
    launch = next((one for one in activities if one.launches), None)
    if launch is not None and _SET_DIRECTLY in launch.cause:
        return reason("guard.raised.directly")
    if ordered is not None and controller.size > ordered:
        return reason("guard.raised.past-eks")
    return None
