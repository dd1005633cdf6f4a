"""Effects of switched faults on pools, beside their launches.

They are: a wrong image of the group, subnets without addresses, the account's quota, and EKS's health issue about
instances that never became nodes.
"""

from collections.abc import Callable, Mapping

from moto.ec2.models.subnets import Subnet

from local.aws.autoscaling.group import Group, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.ec2.ec2_faults import Faults, gpu_vcpus
from local.aws.eks.health import NEVER_JOINED
from local.aws.eks.nodegroup import Nodegroup
from local.aws.eks.nodegroups import Nodegroups
from local.aws.timers import Timers
from local.faults.switches import Switches
from local.fleet.gpus.hardware import has_gpus

#: After this time EKS reports an instance that did not become a node [est], and it checks again at this interval.
JOIN_LIMIT_SECONDS, LOOK_AGAIN_SECONDS = 15 * 60.0, 60.0
PLAIN_IMAGE = "AL2023_x86_64_STANDARD"

_addresses = vars(Subnet)["available_ip_address_count"].fget


class NodegroupFaults:
    """`joined` says whether an instance has become a node. `fleets` has the subnets of each pool of a fleet.
    `install` changes the subnets in moto.
    """

    def __init__(
        self,
        switches: Switches,
        *,
        faults: Faults,
        timers: Timers,
        scaling: Scaling,
        nodegroups: Nodegroups,
        joined: Callable[[str], bool],
        fleets: Mapping[str, set[str]],
    ) -> None:
        self._switches = switches
        self._faults = faults
        self._timers = timers
        self._scaling = scaling
        self._nodegroups = nodegroups
        self._joined = joined
        self._fleets = fleets
        scaling.listeners.launched.append(self._launched)
        scaling.listeners.gone.append(self._gone)
        switches.listen(self._changed)

    def install(self) -> None:
        faults = self

        def available(subnet: Subnet) -> int:
            return 0 if subnet.id in faults.starved() else int(_addresses(subnet))

        Subnet.available_ip_address_count = property(available)  # type: ignore[assignment, method-assign]

    def starved(self) -> set[str]:
        """Subnets that now have no free address."""
        of_groups = {
            subnet
            for nodegroup in self._nodegroups.known()
            if self._suffers(nodegroup, "no-addresses")
            for subnet in nodegroup.subnets
        }
        pools = [pool for pool in list(self._fleets) if self._switches.holds("no-addresses", pool)]
        return of_groups.union(*(self._fleets[pool] for pool in pools))

    def _changed(self) -> None:
        for nodegroup in self._nodegroups.known():
            self._play_image(nodegroup)
        if not self._switches.holds("vcpu-quota"):
            self._faults.full_quota = None
        elif self._faults.full_quota is None:
            self._faults.full_quota = gpu_vcpus(self._scaling.running())

    def _play_image(self, nodegroup: Nodegroup) -> None:
        """A group keeps the image of its creation as long as one of its machines exists."""
        group = self._scaling.groups.get(nodegroup.group)
        if self._suffers(nodegroup, "wrong-ami"):
            nodegroup.played_image = PLAIN_IMAGE
        elif not group or not group.members:
            nodegroup.played_image = None

    def _gone(self, group: Group, _: Member) -> None:
        nodegroup = self._nodegroups.behind(group)
        if nodegroup is not None:
            self._play_image(nodegroup)

    def _suffers(self, nodegroup: Nodegroup, fault: str) -> bool:
        group = self._scaling.groups.get(nodegroup.group)
        gpus = group is not None and has_gpus(group.instance_type)
        return gpus and self._switches.holds(fault, nodegroup.name)

    def _launched(self, group: Group, member: Member) -> None:
        nodegroup = self._nodegroups.behind(group)
        if nodegroup is not None:
            self._timers.after(JOIN_LIMIT_SECONDS, lambda: self._look(nodegroup, group, member))

    def _look(self, nodegroup: Nodegroup, group: Group, member: Member) -> None:
        issue = next((each for each in nodegroup.issues if each["code"] == NEVER_JOINED), None)
        others = [each for each in issue["resourceIds"] if each != member.id] if issue else []
        waits = member.id in group.members and not self._joined(member.id)
        if waits:
            message = "Instances failed to join the kubernetes cluster"
            nodegroup.degrade(NEVER_JOINED, message, [*others, member.id])
            self._timers.after(LOOK_AGAIN_SECONDS, lambda: self._look(nodegroup, group, member))
        elif issue and others:
            issue["resourceIds"] = others
        elif issue:
            nodegroup.recover()
