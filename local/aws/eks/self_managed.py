"""Instances that join a cluster by their own user data, without a managed node group, as those that Karpenter starts.

It tells the simulated fleet which of them run, stop and are terminated. EKS itself does nothing for them: nobody labels
or drains such a node, and its role needs an access entry of its own.
"""

import base64

from botocore.exceptions import ClientError

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.ec2.interfaces import efa_interfaces
from local.aws.eks.access import Access
from local.aws.eks.booting import Boot, boot_of_image, image_name, pods_of
from local.aws.eks.clusters import Clusters
from local.aws.eks.nodes import Fleet
from local.fleet.boot.images import image_of
from local.fleet.machine import Machine

#: Karpenter's label with the name of the NodePool.
NODE_POOL = "karpenter.sh/nodepool"
#: Auto Scaling's tag of its instances. Nobody else can set it.
GROUP_TAG = "aws:autoscaling:groupName"


class SelfManagedNodes:
    """`fleet` may be set at any time before the first node. Without it, nodes are only instances."""

    def __init__(self, service_context: ServiceContext, clusters: Clusters, access: Access) -> None:
        self.fleet: Fleet | None = None
        self._service_context = service_context
        self._clusters = clusters
        self._access = access
        #: By instance, its cluster and the role of its instance profile.
        self._principals: dict[str, tuple[str, str]] = {}

    def instance_changed(self, instance: str, state: str) -> None:
        """Called by EC2 for every instance. Members of Auto Scaling groups are left to nodes.py."""
        if self.fleet is None:
            return
        if state == "running":
            self._start(self.fleet, instance)
        elif instance in self._principals and state == "stopped":
            self.fleet.machine_off(instance)
        elif instance in self._principals and state == "terminated":
            self._principals.pop(instance)
            self.fleet.machine_stopped(instance)

    def take(self, machine: Machine, role: str) -> None:
        """A service starts a machine that needs no user data. `role` is the ARN of its instance profile's role."""
        self._principals[machine.instance_id] = (machine.cluster, role)
        if self.fleet is not None:
            self.fleet.machine_started(machine)

    def admits(self, instance: str) -> bool:
        """Whether the cluster lets the kubelet of an instance in. It is True for instances of node groups."""
        principal = self._principals.get(instance)
        return principal is None or self._access.lets_node_in(*principal)

    def _start(self, fleet: Fleet, instance_id: str) -> None:
        found = self._service_context.call("ec2", "describe_instances", {"InstanceIds": [instance_id]})
        instance = found["Reservations"][0]["Instances"][0]
        if any(tag["Key"] == GROUP_TAG for tag in instance.get("Tags", [])):
            return
        text = self._user_data(instance_id)
        boots = self._boots(instance, text) if text else []
        if not boots:
            return
        cluster, boot = next((each for each in boots if not each[1].problem), boots[0])
        self._principals[instance_id] = (cluster, self._role(instance))
        fleet.machine_started(_machine(instance, cluster, boot))

    def _boots(self, instance: Document, text: str) -> list[tuple[str, Boot]]:
        """What the instance would do in each cluster of the account; the user data names one of them."""
        name = image_name(self._service_context, instance["ImageId"])
        clusters = [self._clusters.described(one) for one in self._clusters.list_clusters({})["clusters"]]
        return [
            (cluster["name"], boot_of_image(name, instance["InstanceType"], text, cluster))
            for cluster in clusters
        ]

    def _user_data(self, instance: str) -> str:
        wanted = {"InstanceId": instance, "Attribute": "userData"}
        found = self._service_context.call("ec2", "describe_instance_attribute", wanted)
        return base64.b64decode((found.get("UserData") or {}).get("Value") or "").decode("utf-8", "replace")

    def _role(self, instance: Document) -> str:
        """The role of the instance profile; "" without one."""
        arn = (instance.get("IamInstanceProfile") or {}).get("Arn", "")
        if not arn:
            return ""
        wanted = {"InstanceProfileName": arn.rpartition("/")[2]}
        try:
            profile = self._service_context.call("iam", "get_instance_profile", wanted)["InstanceProfile"]
        except ClientError:
            return ""
        return next((str(role["Arn"]) for role in profile["Roles"]), "")


def _machine(instance: Document, cluster: str, boot: Boot) -> Machine:
    windows = image_of(boot.ami_type).windows
    return Machine(
        instance_id=instance["InstanceId"],
        instance_type=instance["InstanceType"],
        zone=instance["Placement"]["AvailabilityZone"],
        private_ip=instance["PrivateIpAddress"],
        private_dns=instance["PrivateDnsName"],
        cluster=cluster,
        nodegroup=boot.settings.labels.get(NODE_POOL, ""),
        labels=boot.settings.labels,
        taints=boot.settings.taints,
        ami_type=boot.ami_type,
        max_pods=boot.settings.max_pods or pods_of(instance["InstanceType"], windows=windows),
        launched=instance["LaunchTime"].timestamp(),
        kubernetes_version=boot.kubernetes_version,
        cannot_join=boot.problem,
        efa=efa_interfaces(instance),
    )
