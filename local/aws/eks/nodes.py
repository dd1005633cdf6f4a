"""What EKS itself does with the nodes of a managed group.

It drains a node before it removes it, for at most 15 minutes. It tells the simulated fleet which instances of its
groups run, stop and are terminated.
"""

import base64
import re
from collections.abc import Callable
from typing import Protocol

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.group import Group, Hook, Member
from local.aws.autoscaling.scaling import Scaling
from local.aws.eks.nodegroup import Nodegroup
from local.fleet.machine import Machine

#: EKS waits this long for pods to leave; PodDisruptionBudgets do not delay it further.
DRAIN_SECONDS, LEEWAY_SECONDS = 15 * 60.0, 30.0
DRAIN_HOOK = "Terminate-LC-Hook"
HOOKS = (
    {"LifecycleHookName": "Launch-LC-Hook", "LifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING"},
    {"LifecycleHookName": DRAIN_HOOK, "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"},
)
#: Addresses of an instance type without prefix delegation, as the VPC CNI counts them; other types get 29.
MAX_PODS = {"t3.medium": 17, "g4dn.xlarge": 29, "g5.xlarge": 58, "g6.xlarge": 58, "g6e.xlarge": 58}
EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


class Fleet(Protocol):
    """The simulator of the machines behind the instances."""

    def machine_started(self, machine: Machine) -> None: ...

    def machine_stopping(self, instance_id: str) -> None: ...

    def machine_stopped(self, instance_id: str) -> None: ...

    def drain(self, instance_id: str) -> object: ...

    def joined(self, instance_id: str) -> bool: ...


class Nodes:
    """`fleet` may be set at any time before the first node. Without it, nodes are only instances."""

    def __init__(
        self,
        service_context: ServiceContext,
        scaling: Scaling,
        nodegroup_of: Callable[[Group], Nodegroup | None],
    ) -> None:
        self.fleet: Fleet | None = None
        self._service_context = service_context
        self._scaling = scaling
        self._nodegroup_of = nodegroup_of
        scaling.listeners.launched.append(self._launched)
        scaling.listeners.waiting.append(self._waiting)
        scaling.listeners.gone.append(self._gone)

    def instance_changed(self, instance: str, state: str) -> None:
        """Called by EC2. The machine of a node stops, whoever ended its instance."""
        if state == "shutting-down" and self.fleet is not None:
            self.fleet.machine_stopping(instance)

    def joined(self, instance: str) -> bool:
        """Whether it has become a node; True if nobody simulates its machine."""
        return self.fleet is None or self.fleet.joined(instance)

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
        return Machine(
            instance_id=member.id,
            instance_type=member.type,
            zone=member.zone,
            private_ip=instance["PrivateIpAddress"],
            private_dns=instance["PrivateDnsName"],
            cluster=nodegroup.cluster,
            nodegroup=nodegroup.name,
            labels=self._labels(nodegroup, instance["ImageId"]),
            taints=[_taint(taint) for taint in nodegroup.taints],
            ami_type=nodegroup.image,
            max_pods=self._max_pods(nodegroup, member.type),
            launched=instance["LaunchTime"].timestamp(),
        )

    def _labels(self, nodegroup: Nodegroup, image: str) -> dict[str, str]:
        labels = {
            "eks.amazonaws.com/capacityType": nodegroup.capacity_type,
            "eks.amazonaws.com/nodegroup": nodegroup.name,
            "eks.amazonaws.com/nodegroup-image": image,
        }
        template = nodegroup.launch_template
        if template:
            labels["eks.amazonaws.com/sourceLaunchTemplateId"] = template["id"]
            labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = str(template["version"])
        return {**nodegroup.labels, **labels}

    def _max_pods(self, nodegroup: Nodegroup, instance_type: str) -> int:
        """The number of pods from the nodeadm configuration in the user data, if it has one."""
        found = self._service_context.call(
            "ec2",
            "describe_launch_template_versions",
            {"LaunchTemplateId": nodegroup.derived_template, "Versions": ["$Latest"]},
        )["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        text = base64.b64decode(found.get("UserData") or "").decode("utf-8", "replace")
        stated = re.search(r"maxPods['\"]?\s*:\s*(\d+)", text)
        return int(stated[1]) if stated else MAX_PODS.get(instance_type, 29)


def _taint(taint: Document) -> dict[str, str]:
    """A taint as Kubernetes writes it."""
    return {"key": taint["key"], "value": taint.get("value", ""), "effect": EFFECTS[taint["effect"]]}
