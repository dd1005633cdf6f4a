"""What a machine boots from: its image and its user data, as the image's start-up program reads them.

A managed node group names the kind of its image. Any other image is told by its name, or by the form of the data.
"""

import base64
import re
from dataclasses import dataclass

from botocore.exceptions import ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.eks.nodegroup import Nodegroup
from local.aws.eks.start_data import NodeStart
from local.fleet.boot import user_data
from local.fleet.boot.images import CUSTOM, Family, ami_type_of, image_of
from local.fleet.boot.settings import BadUserData, NodeSettings
from local.fleet.gpus.hardware import has_gpus

EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
#: How Amazon names its images: the family by the beginning of the name.
_NAMES = {
    "amazon-eks-node-al2023": Family.AL2023,
    "amazon-eks-": Family.AL2,
    "bottlerocket-": Family.BOTTLEROCKET,
    "Windows_Server": Family.WINDOWS,
}
#: AWS's Deep Learning AMIs have the driver, but neither nodeadm nor a kubelet: a machine never becomes a node [m].
_WITHOUT_NODEADM = "Deep Learning "
_VERSION = re.compile(r"(?<![\d.])1\.\d\d(?![\d])")


@dataclass(frozen=True)
class Boot:
    """`ami_type` is that of the image, or of the image that a custom one is like. `problem` is "" if the node joins."""

    ami_type: str
    kubernetes_version: str
    settings: NodeSettings
    problem: str


def boot(
    service_context: ServiceContext, nodegroup: Nodegroup, template: Document, cluster: Document
) -> Boot:
    """The start of a machine from a derived launch template's data."""
    text = text_of(template)
    if nodegroup.ami_type != CUSTOM:
        return _started(nodegroup.ami_type, nodegroup.version, text, cluster)
    name = image_name(service_context, template["ImageId"])
    return boot_of_image(name, template["InstanceType"], text, cluster, nodegroup.version)


def boot_of_image(name: str, instance_type: str, text: str, cluster: Document, version: str = "") -> Boot:
    """The start of a machine from an image that EKS does not choose, named as EC2 names it; "" if EC2 does not know it.

    `cluster` is what DescribeCluster returns. `version` is for an image whose name has none; default: the cluster's.
    """
    named = _VERSION.search(name)
    version = named[0] if named else version or cluster["version"]
    family = (
        None if name.startswith(_WITHOUT_NODEADM) else _family_by_name(name) or user_data.family_by_form(text)
    )
    if family is None:
        nothing = "no start-up program of an EKS image understands the user data"
        return Boot("AL2023_x86_64_STANDARD", version, NodeSettings(), nothing)
    return _started(_like(family, name, instance_type), version, text, cluster)


def _started(ami_type: str, version: str, text: str, cluster: Document) -> Boot:
    try:
        settings = user_data.read(image_of(ami_type).family, text)
    except BadUserData as error:
        return Boot(ami_type, version, NodeSettings(), str(error))
    authority = (cluster.get("certificateAuthority") or {}).get("data", "")
    problem = settings.why_it_cannot_join(cluster["name"], cluster.get("endpoint", ""), authority)
    return Boot(ami_type, version, settings, problem)


def start_of(nodegroup: Nodegroup, image_id: str, instance_type: str, cluster: Document) -> NodeStart:
    """What EKS tells a node of the group."""
    return NodeStart(
        cluster=nodegroup.cluster,
        endpoint=cluster.get("endpoint", ""),
        authority=(cluster.get("certificateAuthority") or {}).get("data", ""),
        service_cidr=cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"],
        labels=labels_of(nodegroup, image_id),
        taints=taints_of(nodegroup),
        max_pods=pods_of(instance_type, windows=image_of(nodegroup.ami_type).windows),
    )


def labels_of(nodegroup: Nodegroup, image_id: str) -> dict[str, str]:
    """The labels of the group and of EKS."""
    labels = {
        "eks.amazonaws.com/capacityType": nodegroup.capacity_type,
        "eks.amazonaws.com/nodegroup": nodegroup.name,
        "eks.amazonaws.com/nodegroup-image": image_id,
    }
    template = nodegroup.launch_template
    if template:
        labels["eks.amazonaws.com/sourceLaunchTemplateId"] = template["id"]
        labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = str(template["version"])
    return {**nodegroup.labels, **labels}


def taints_of(nodegroup: Nodegroup) -> list[dict[str, str]]:
    """The taints of the group as Kubernetes writes them."""
    return [
        {"key": taint["key"], "value": taint.get("value", ""), "effect": EFFECTS[taint["effect"]]}
        for taint in nodegroup.taints
    ]


def pods_of(instance_type: str, *, windows: bool = False) -> int:
    """The addresses that the VPC CNI gives to pods without prefix delegation; on Windows one interface has them all."""
    network = INSTANCE_TYPES[instance_type]["NetworkInfo"]
    addresses: int = network["Ipv4AddressesPerInterface"] - 1
    interfaces: int = network["MaximumNetworkInterfaces"]
    return addresses if windows else interfaces * addresses + 2


def text_of(template: Document) -> str:
    """The user data of a launch template as text."""
    return base64.b64decode(template.get("UserData") or "").decode("utf-8", "replace")


def _like(family: Family, name: str, instance_type: str) -> str:
    """A custom image has the architecture of its instance type, and a driver where the type has GPUs: its owner says
    so. An image that EC2 knows says by its name whether it has one.
    """
    types: list[str] = INSTANCE_TYPES[instance_type]["ProcessorInfo"]["SupportedArchitectures"]
    nvidia = bool(re.search(r"nvidia|gpu", name, re.IGNORECASE)) if name else has_gpus(instance_type)
    return ami_type_of(family, "arm64" if "arm64" in types else "x86_64", nvidia=nvidia)


def image_name(service_context: ServiceContext, image_id: str) -> str:
    """The name of an image that EC2 knows; "" for any other."""
    try:
        found = service_context.call("ec2", "describe_images", {"ImageIds": [image_id]})["Images"]
    except ClientError:
        return ""
    return str(found[0].get("Name") or "") if found else ""


def _family_by_name(name: str) -> Family | None:
    return next((family for start, family in _NAMES.items() if name.startswith(start)), None)
