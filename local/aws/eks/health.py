"""The health of a node group: ACTIVE, DEGRADED or CREATE_FAILED.

It is ACTIVE when all its first nodes have joined, and DEGRADED after a refused launch until a scale-out succeeds. It is
CREATE_FAILED when its first nodes do not come or do not join.
"""

from collections.abc import Callable

from local.aws.autoscaling.group import Group, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.nodegroup import Nodegroup
from local.aws.timers import Timers

SETTLE_SECONDS = 1.0
#: How often EKS looks for nodes that have not joined [est].
LOOK_SECONDS = 5.0
#: A creation whose nodes do not come fails after this time.
CREATE_LIMIT_SECONDS = 20 * 60.0
NEVER_JOINED = "NodeCreationFailure"
_NO_ADDRESS = "not enough free addresses in subnet"


class Health:
    """Listens to the Auto Scaling groups. `behind` gives the node group of an Auto Scaling group.

    `joined` says whether an instance has become a node.
    """

    def __init__(
        self,
        timers: Timers,
        scaling: Scaling,
        behind: Callable[[Group], Nodegroup | None],
        joined: Callable[[str], bool],
    ) -> None:
        self._timers = timers
        self._scaling = scaling
        self._behind = behind
        self._joined = joined
        scaling.listeners.launched.append(self._launched)
        scaling.listeners.refused.append(self._refused)

    def watch_creation(self, nodegroup: Nodegroup) -> None:
        self._timers.after(SETTLE_SECONDS, lambda: self._settle(nodegroup))
        self._timers.after(CREATE_LIMIT_SECONDS, lambda: self._give_up(nodegroup))

    def _launched(self, group: Group, _: Member) -> None:
        nodegroup = self._behind(group)
        if nodegroup is not None:
            nodegroup.recover()
            self._timers.after(SETTLE_SECONDS, lambda: self._settle(nodegroup))

    def _refused(self, group: Group, message: str) -> None:
        nodegroup = self._behind(group)
        if nodegroup is not None:
            code = "InsufficientFreeAddresses" if _NO_ADDRESS in message else "AsgInstanceLaunchFailures"
            nodegroup.degrade(code, message)

    def _settle(self, nodegroup: Nodegroup) -> None:
        group = self._scaling.groups.get(nodegroup.group)
        if group is None or nodegroup.status != "CREATING":
            return
        running = [member for member in group.members.values() if member.state == "InService"]
        if len(running) < group.desired:
            return
        if all(self._joined(member.id) for member in running):
            nodegroup.status = "ACTIVE"
        else:
            self._timers.after(LOOK_SECONDS, lambda: self._settle(nodegroup))

    def _give_up(self, nodegroup: Nodegroup) -> None:
        if nodegroup.status != "CREATING":
            return
        group = self._scaling.groups.get(nodegroup.group)
        absent = [member for member in (group.members if group else {}) if not self._joined(member)]
        if absent:
            nodegroup.degrade(NEVER_JOINED, "Instances failed to join the kubernetes cluster", absent)
        nodegroup.status = "CREATE_FAILED"
