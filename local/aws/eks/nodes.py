"""What EKS itself does with the nodes of a managed group.

It drains a node before it removes it, for at most 15 minutes. It tells the simulated fleet which instances of its
groups run, stop and are terminated.
"""

from collections.abc import Callable
from typing import Protocol

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.group import Group, Hook, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.ec2.interfaces import efa_interfaces
from local.aws.eks.booting import boot, labels_of, pods_of, taints_of
from local.aws.eks.nodegroup import Nodegroup
from local.fleet.boot.images import CUSTOM, image_of
from local.fleet.machine import Machine

#: EKS waits this long for pods to leave; PodDisruptionBudgets do not delay it further.
DRAIN_SECONDS, LEEWAY_SECONDS = 15 * 60.0, 30.0
DRAIN_HOOK = "Terminate-LC-Hook"
HOOKS = (
    {"LifecycleHookName": "Launch-LC-Hook", "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"},
    {"LifecycleHookName": DRAIN_HOOK, "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"},
)


class Fleet(Protocol):
    """The simulator of the machines behind the instances."""

    def machine_started(self, machine: Machine) -> None: ...

    def machine_stopping(self, instance_id: str) -> None: ...

    def machine_off(self, instance_id: str) -> None: ...

    def machine_stopped(self, instance_id: str) -> None: ...

    def drain(self, instance_id: str) -> object: ...

    def joined(self, instance_id: str) -> bool: ...

    def ready(self, instance_id: str) -> bool: ...

    def cordon(self, instance_id: str, *, closed: bool = True) -> None: ...

    def evict(self, instance_id: str) -> bool: ...

    def node_name(self, instance_id: str) -> str: ...


class Nodes:
    """`fleet` may be set at any time before the first node. Without it, nodes are only instances.

    `cluster_of` returns what DescribeCluster returns.
    """

    def __init__(
        self,
        service_context: ServiceContext,
        scaling: Scaling,
        nodegroup_of: Callable[[Group], Nodegroup | None],
        cluster_of: Callable[[str], Document],
    ) -> None:
        self.fleet: Fleet | None = None
        self._service_context = service_context
        self._scaling = scaling
        self._nodegroup_of = nodegroup_of
        self._cluster_of = cluster_of
        scaling.listeners.launched.append(self._launched)
        scaling.listeners.waiting.append(self._waiting)
        scaling.listeners.gone.append(self._gone)

    def instance_changed(self, instance: str, state: str) -> None:
        """Called by EC2. The machine of a node stops, whoever ended its instance."""
        if state in ("shutting-down", "stopping") and self.fleet is not None:
            self.fleet.machine_stopping(instance)

    def joined(self, instance: str) -> bool:
        """Whether it has become a node; True if nobody simulates its machine."""
        return self.fleet is None or self.fleet.joined(instance)

    def nodegroup_of_instance(self, instance: str) -> Nodegroup | None:
        """The node group that the instance belongs to."""
        groups = (group for group in self._scaling.groups.values() if instance in group.members)
        return next((found for group in groups if (found := self._nodegroup_of(group))), None)

    def _launched(self, group: Group, member: Member) -> None:
        nodegroup = self._nodegroup_of(group)
        if nodegroup is not None and self.fleet is not None:
            self.fleet.machine_started(self._machine(nodegroup, member))

    def _gone(self, group: Group, member: Member) -> None:
        if self._nodegroup_of(group) is not None and self.fleet is not None:
            self.fleet.machine_stopped(member.id)

    def _waiting(self, group: Group, hook: Hook, member: Member) -> None:
        if hook.name == DRAIN_HOOK and self._nodegroup_of(group) is not None:
            clock = self._service_context.clock
            clock.spawn(f"drain-{member.id}", lambda: self._drain(group, member))

    def _drain(self, group: Group, member: Member) -> None:
        clock, token = self._service_context.clock, member.token
        drained = clock.event()

        def drain() -> None:
            if self.fleet is not None:
                self.fleet.drain(member.id)
            drained.set()

        clock.spawn(f"evict-{member.id}", drain)
        drained.wait(DRAIN_SECONDS + LEEWAY_SECONDS)
        self._scaling.complete(group, member, token)

    def _machine(self, nodegroup: Nodegroup, member: Member) -> Machine:
        found = self._service_context.call("ec2", "describe_instances", {"InstanceIds": [member.id]})
        instance = found["Reservations"][0]["Instances"][0]
        start = boot(
            self._service_context, nodegroup, self._template(member), self._cluster_of(nodegroup.cluster)
        )
        custom = nodegroup.ami_type == CUSTOM
        windows = image_of(start.ami_type).windows
        return Machine(
            instance_id=member.id,
            instance_type=member.type,
            zone=member.zone,
            private_ip=instance["PrivateIpAddress"],
            private_dns=instance["PrivateDnsName"],
            cluster=nodegroup.cluster,
            nodegroup=nodegroup.name,
            labels=start.settings.labels,
            taints=start.settings.taints,
            ami_type=nodegroup.played_image or start.ami_type,
            max_pods=start.settings.max_pods or pods_of(member.type, windows=windows),
            launched=instance["LaunchTime"].timestamp(),
            efa=efa_interfaces(instance),
            kubernetes_version=start.kubernetes_version,
            cannot_join=start.problem,
            # Into a custom image EKS writes nothing: it labels and taints the node when it has joined.
            later_labels=labels_of(nodegroup, instance["ImageId"]) if custom else {},
            later_taints=taints_of(nodegroup) if custom else (),
        )

    def _template(self, member: Member) -> Document:
        """The data of the very version of the launch template from which the machine was started."""
        named = {
            "LaunchTemplateId": member.template["LaunchTemplateId"],
            "Versions": [member.template["Version"]],
        }
        found = self._service_context.call("ec2", "describe_launch_template_versions", named)
        data: Document = found["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return data
