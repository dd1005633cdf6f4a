"""Managed node groups as the capacity of a world: EKS, Auto Scaling and EC2 with the operations that our code calls."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import ClassVar

from tests.world.aws.capacity import AutoScaling, Eks, Nodegroup
from tests.world.aws.ec2 import Ec2
from tests.world.aws.machines import Machine
from tests.world.aws.scaling_groups import Group, Groups
from tests.world.aws.security_groups import SecurityGroups
from tests.world.capacity.supply import Heard, Json, Rail, Site, SizeStep, Task

EKS = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
AUTO_SCALING = "arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"
LABEL = "eks.amazonaws.com/nodegroup"


class NodeGroups:
    """A node group for each pool, with its Auto Scaling group."""

    workflows: ClassVar[Mapping[str, Json]] = {}
    tasks: ClassVar[Mapping[str, Task]] = {}

    def __init__(self, site: Site) -> None:
        self._lab = site.lab
        self.heard = Heard()
        self.groups = Groups(site.machines)
        self.eks = Eks(site.event_queue, site.chance, self.groups, site.lab.cluster_name)
        self.autoscaling = AutoScaling(self.groups, site.lab.cluster_name)
        self.ec2 = Ec2(site.machines, site.lab, lambda: site.event_queue.now)
        self.security_groups: SecurityGroups = self.ec2
        # The laws put themselves there later.
        self.ec2.ends = lambda ids, end: self.heard.terminated(ids, end)  # noqa: PLW0108
        self.groups.retired = lambda group, machine: self.heard.retired(group.pool, machine)
        self.groups.event = lambda _kind, _group: self.heard.event()
        self.eks.ordered = self.autoscaling.ordered = self._ordered
        self.services = {"eks": self.eks, "autoscaling": self.autoscaling, "ec2": self.ec2}
        self.targets = {EKS: self._by_eks, AUTO_SCALING: self._by_auto_scaling}

    def install(self) -> AbstractContextManager[object]:
        return nullcontext()

    def create(self, pool: str, maximum: int) -> None:
        """Makes the node group, and its Auto Scaling group with EKS's tags."""
        name = self._lab.nodegroup_name(pool)
        if name in self.eks.nodegroups:
            return
        self.eks.create(pool, name, maximum)
        group = self.eks.nodegroups[name].group.name
        self.autoscaling.nodegroup_of[group] = name

    def barred(self, pool: str) -> bool:
        """AWS starts what the size asks for, whenever that is."""
        return False

    def size_step(self, pool: str) -> SizeStep:
        """The step reads EKS."""
        names = {"Cluster": self._lab.cluster_name, "Nodegroup": self._lab.nodegroup_name(pool)}
        return SizeStep("DesiredSize", "DesiredSize", names)

    def locked(self, pool: str) -> bool:
        """Its failsafe denies nothing."""
        return False

    def anew(self, pool: str) -> bool:
        """A smaller size takes members."""
        return False

    def size(self, pool: str) -> int:
        """The group's desired capacity; EKS may be behind."""
        return self._group(pool).desired

    def staying(self, pool: str) -> list[Machine]:
        return [member.machine for member in self._group(pool).counted()]

    def listed(self, pool: str) -> list[Machine]:
        return [member.machine for member in self._group(pool).members.values()]

    def node_labels(self, machine: Machine) -> dict[str, str]:
        return {LABEL: self._lab.nodegroup_name(machine.pool)}

    def rails(self, pool: str) -> tuple[Rail, Rail, Rail, Rail]:
        eks, group = self.curfew(pool)
        return eks, eks, group, eks

    def curfew(self, pool: str) -> Sequence[Rail]:
        found = self._nodegroup(pool)
        sizes = {"MinSize": 0, "DesiredSize": 0}
        by_eks = {"ClusterName": self.eks.cluster, "NodegroupName": found.name, "ScalingConfig": sizes}
        by_group = {"AutoScalingGroupName": found.group.name, "MinSize": 0, "DesiredCapacity": 0}
        return Rail("eks", EKS, by_eks), Rail("group", AUTO_SCALING, by_group)

    def resize(self, pool: str, size: int, *, otherwise: bool = False) -> None:
        """By EKS, with a minimum, or by the group itself. More than the maximum is the maximum."""
        found = self._nodegroup(pool)
        size = min(size, found.sizes["maxSize"])
        if otherwise:
            sizes = {"minSize": size // 2, "desiredSize": size}
            self.eks.update_nodegroup_config(
                clusterName=self.eks.cluster, nodegroupName=found.name, scalingConfig=sizes
            )
            return
        self.autoscaling.update_auto_scaling_group(
            AutoScalingGroupName=found.group.name, MinSize=0, DesiredCapacity=size
        )

    def stray(self, pool: str) -> Machine:
        """With the tags of EKS, and without the one that only AWS can set."""
        machine = self.groups.machines.stray(pool, self._group(pool).name)
        machine.tags = dict(self._group(pool).tags)
        return machine

    def keep_busy(self, pool: str, seconds: float) -> None:
        self.eks.update_lasts = seconds
        self.eks.update(self._nodegroup(pool), "ConfigUpdate")
        self.eks.update_lasts = None

    def rewrite(self, pool: str, size: int, maximum: int) -> None:
        sizes = {"minSize": 0, "maxSize": maximum, "desiredSize": size}
        self.eks.update_nodegroup_config(
            clusterName=self.eks.cluster, nodegroupName=self._nodegroup(pool).name, scalingConfig=sizes
        )

    def _ordered(self, pool: str, before: int, after: int) -> None:
        self.heard.ordered(pool, before, after)

    def _by_eks(self, sent: Json) -> object:
        sizes = {key[0].lower() + key[1:]: value for key, value in sent["ScalingConfig"].items()}
        return self.eks.update_nodegroup_config(
            clusterName=sent["ClusterName"], nodegroupName=sent["NodegroupName"], scalingConfig=sizes
        )

    def _by_auto_scaling(self, sent: Json) -> object:
        return self.autoscaling.update_auto_scaling_group(**sent)

    def _nodegroup(self, pool: str) -> Nodegroup:
        return self.eks.nodegroups[self._lab.nodegroup_name(pool)]

    def _group(self, pool: str) -> Group:
        return self._nodegroup(pool).group
