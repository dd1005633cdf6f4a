"""How EKS rolls the nodes of a group to a new version (EKS user guide, managed-node-update-behavior).

With the strategy DEFAULT it first adds nodes, two for each zone or as many as may be unavailable, even if there were
none. Then it replaces the old nodes, as many at a time as may be unavailable, and restores the sizes. With MINIMAL it
adds none: each old node goes before its successor comes, so an empty group starts nothing.

What a failed update leaves behind is not published. Here EKS takes its additional nodes away and opens the old nodes
again, and the group keeps its version. Pods that stayed are an issue of its health until an update succeeds [est].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from local.aws.api.own_services import Document
from local.aws.autoscaling.autoscaling import AutoScaling
from local.aws.autoscaling.group import Group
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.nodegroup import Nodegroup
from local.aws.eks.nodes import Fleet
from local.aws.eks.updates import Update
from local.clock import VirtualClock

#: Seconds until EKS gives up: new nodes do not become Ready, or an old one does not go [est].
STEP_SECONDS = 25 * 60.0
#: EKS waits between the last eviction and the end of a node, so that load balancers forget it.
AFTER_EVICTION_SECONDS = 60.0
#: The quota of nodes that are replaced at a time.
MOST_AT_A_TIME = 100
EVICTION = "PodEvictionFailure"


@dataclass
class _Failure(Exception):
    code: str
    message: str
    resources: list[str]


class Rolling:
    """One rolling update. `start` returns at once; the update shows how it ends.

    `force` deletes the pods that cannot be evicted. `undo` gives the group its former version after a failure.
    """

    def __init__(
        self,
        clock: VirtualClock,
        nodegroup: Nodegroup,
        update: Update,
        *,
        autoscaling: AutoScaling,
        scaling: Scaling,
        fleet: Fleet | None,
        force: bool,
        undo: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._autoscaling = autoscaling
        self._scaling = scaling
        self._fleet = fleet
        self._nodegroup = nodegroup
        self._update = update
        self._force = force
        self._undo = undo

    def start(self) -> None:
        self._clock.spawn(f"roll-{self._nodegroup.name}", self._roll)

    def _roll(self) -> None:
        group = self._scaling.groups[self._nodegroup.group]
        before = (group.minimum, group.maximum, group.desired)
        old = [member.id for member in group.counted()]
        minimal = self._nodegroup.update_config.get("updateStrategy") == "MINIMAL"
        try:
            if not minimal:
                self._add(group, before, self._at_a_time(len(old)))
            for batch in _batches(old, self._at_a_time(len(old))):
                self._replace(group, batch, before[2])
        except _Failure as failure:
            self._update.errors = [
                {
                    "errorCode": failure.code,
                    "errorMessage": failure.message,
                    "resourceIds": failure.resources,
                }
            ]
            self._take_back(group, old)
            self._undo()
            if failure.code == EVICTION:
                self._nodegroup.degrade(failure.code, failure.message, failure.resources)
            status = "Failed"
        else:
            self._nodegroup.issues = [one for one in self._nodegroup.issues if one["code"] != EVICTION]
            status = "Successful"
        # Somebody else may have made it smaller meanwhile.
        desired = min(before[2], group.desired)
        self._resize(min(before[0], desired), before[1], desired)
        self._update.status = status
        self._nodegroup.seen_resize = self._clock.time()
        self._nodegroup.status = "DEGRADED" if self._nodegroup.issues else "ACTIVE"

    def _at_a_time(self, nodes: int) -> int:
        """The number of nodes that may be unavailable; a percentage is rounded down, to at least one."""
        config = self._nodegroup.update_config
        percentage = config.get("maxUnavailablePercentage")
        number = nodes * percentage // 100 if percentage else config.get("maxUnavailable") or 1
        return max(1, min(int(number), MOST_AT_A_TIME))

    def _add(self, group: Group, before: tuple[int, int, int], at_a_time: int) -> None:
        """The scale-up phase: new nodes first, then no new pods for the old ones."""
        there = set(group.members)
        extra = max(2 * len(set(group.zones.values())), at_a_time)
        self._resize(before[0], before[1] + extra, before[2] + extra)
        self._await_new(group, there, extra)
        for instance in there:
            self._cordon(instance)

    def _replace(self, group: Group, batch: list[str], desired: int) -> None:
        """`desired` is the size before the update, below which it never brings the group."""
        # One after the other here; on AWS at the same time.
        for instance in batch:
            self._cordon(instance)
        stayed = [instance for instance in batch if not self._evict(instance)]
        if stayed:
            raise _Failure(
                EVICTION,
                # aws/containers-roadmap 1282
                f"Reached max retries while trying to evict pods from nodes in node group {self._nodegroup.name}",
                [self._name(instance) for instance in stayed],
            )
        self._clock.sleep(AFTER_EVICTION_SECONDS)
        there = set(group.members)
        surplus = max(0, group.desired - desired)
        # Somebody else may have ended one of them meanwhile.
        left = [instance for instance in batch if instance in there and group.members[instance].counts()]
        for number, instance in enumerate(left):
            self._terminate(instance, decrement=number < surplus)
        self._await_new(group, there, len(left) - surplus)
        self._wait(group, lambda: not set(batch) & set(group.members))

    def _evict(self, instance: str) -> bool:
        # With `force` the drain of the scale-in deletes what stays.
        return self._fleet is None or self._fleet.evict(instance) or self._force

    def _cordon(self, instance: str, *, closed: bool = True) -> None:
        if self._fleet is not None:
            self._fleet.cordon(instance, closed=closed)

    def _await_new(self, group: Group, there: set[str], number: int) -> None:
        def came() -> bool:
            new = [member for member in group.members.values() if member.id not in there]
            ready = [m for m in new if m.state == "InService" and self._ready(m.id)]
            return len(ready) >= number

        self._wait(group, came)

    def _ready(self, instance: str) -> bool:
        return self._fleet is None or self._fleet.ready(instance)

    def _take_back(self, group: Group, old: list[str]) -> None:
        """Ends the additional nodes, but not the successors of nodes that are gone."""
        new = [member.id for member in group.counted() if member.id not in old]
        successors = sum(instance not in group.members for instance in old)
        for instance in new[successors:]:
            self._terminate(instance, decrement=True)
        for instance in old:
            if instance in group.members:
                self._cordon(instance, closed=False)

    def _terminate(self, instance: str, *, decrement: bool) -> None:
        request: Document = {"InstanceId": instance, "ShouldDecrementDesiredCapacity": decrement}
        self._autoscaling.terminate_instance_in_auto_scaling_group(request)

    def _resize(self, minimum: int, maximum: int, desired: int) -> None:
        self._autoscaling.update_auto_scaling_group(
            {
                "AutoScalingGroupName": self._nodegroup.group,
                "MinSize": minimum,
                "MaxSize": maximum,
                "DesiredCapacity": desired,
            }
        )

    def _wait(self, group: Group, done: Callable[[], bool]) -> None:
        if not self._clock.wait_until(self._clock.time() + STEP_SECONDS, done):
            message = (
                "Couldn't proceed with upgrade process as new nodes are not joining node group "
                f"{self._nodegroup.name}"
            )
            raise _Failure("NodeCreationFailure", message, [group.name])

    def _name(self, instance: str) -> str:
        """The name of the node, which EKS reports."""
        return self._fleet.node_name(instance) if self._fleet is not None else instance


def _batches(old: list[str], size: int) -> Iterator[list[str]]:
    for begin in range(0, len(old), size):
        yield old[begin : begin + size]
