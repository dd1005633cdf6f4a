"""How EKS rolls the nodes of a group to a new version.

First it adds nodes, two for each zone, even if there were none. Then it removes the old nodes, one at a time. Then it
restores the sizes.
"""

from collections.abc import Callable

from local.aws.autoscaling.autoscaling import AutoScaling
from local.aws.autoscaling.group import Group
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.nodegroup import Nodegroup
from local.aws.eks.updates import Update
from local.clock import VirtualClock

#: Seconds for one step: new nodes come into service, or one old node is removed.
STEP_SECONDS = 25 * 60.0


class Rolling:
    """One rolling update. `start` returns at once; the update shows how it ends."""

    def __init__(
        self,
        clock: VirtualClock,
        autoscaling: AutoScaling,
        scaling: Scaling,
        nodegroup: Nodegroup,
        update: Update,
    ) -> None:
        self._clock = clock
        self._autoscaling = autoscaling
        self._scaling = scaling
        self._nodegroup = nodegroup
        self._update = update

    def start(self) -> None:
        self._clock.spawn(f"roll-{self._nodegroup.name}", self._roll)

    def _roll(self) -> None:
        group = self._scaling.groups[self._nodegroup.group]
        before = (group.minimum, group.maximum, group.desired)
        old = [member.id for member in group.counted()]
        extra = 2 * len(set(group.zones.values()))
        self._resize(before[0], before[1] + extra, before[2] + extra)
        done = self._wait(lambda: _in_service(group) >= before[2] + extra)
        for instance in old if done else []:
            self._autoscaling.terminate_instance_in_auto_scaling_group(
                {"InstanceId": instance, "ShouldDecrementDesiredCapacity": True}
            )
            done = done and self._wait(lambda gone=instance: gone not in group.members)  # type: ignore[misc]
        self._resize(*before)
        self._update.status = "Successful" if done else "Failed"
        if not done:
            message = "Timed out waiting for the new nodes to be in service"
            self._update.errors = [
                {"errorCode": "NodeCreationFailure", "errorMessage": message, "resourceIds": [group.name]}
            ]
        self._nodegroup.seen_resize = self._clock.time()
        self._nodegroup.status = "DEGRADED" if self._nodegroup.issues else "ACTIVE"

    def _resize(self, minimum: int, maximum: int, desired: int) -> None:
        self._autoscaling.update_auto_scaling_group(
            {
                "AutoScalingGroupName": self._nodegroup.group,
                "MinSize": minimum,
                "MaxSize": maximum,
                "DesiredCapacity": desired,
            }
        )

    def _wait(self, done: Callable[[], bool]) -> bool:
        return self._clock.wait_until(self._clock.time() + STEP_SECONDS, done)


def _in_service(group: Group) -> int:
    return sum(member.state == "InService" for member in group.members.values())
