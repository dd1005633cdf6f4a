"""The health of a node group: ACTIVE, DEGRADED or CREATE_FAILED.

It is ACTIVE when all its first nodes are in service, and DEGRADED after a refused launch until a scale-out succeeds. It
is CREATE_FAILED when its first nodes do not come.
"""

from collections.abc import Callable

from local.aws.autoscaling.group import Group, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.nodegroup import Nodegroup
from local.aws.timers import Timers

SETTLE_SECONDS = 1.0
#: A creation whose nodes do not come fails after this time.
CREATE_LIMIT_SECONDS = 20 * 60.0
_NO_ADDRESS = "not enough free addresses in subnet"


class Health:
    """Listens to the Auto Scaling groups. `behind` gives the node group of an Auto Scaling group."""

    def __init__(self, timers: Timers, scaling: Scaling, behind: Callable[[Group], Nodegroup | None]) -> None:
        self._timers = timers
        self._scaling = scaling
        self._behind = behind
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
        ready = [member for member in group.members.values() if member.state == "InService"]
        if len(ready) >= group.desired:
            nodegroup.status = "ACTIVE"

    def _give_up(self, nodegroup: Nodegroup) -> None:
        if nodegroup.status == "CREATING":
            nodegroup.status = "CREATE_FAILED"
