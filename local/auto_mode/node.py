"""The node of an instance of Auto Mode: its name is the instance's id, and AWS's image brings driver and plugin."""

from collections.abc import Mapping

from local.auto_mode.launch import Launched
from local.auto_mode.requirements import (
    ARCHITECTURE,
    CAPACITY_TYPE,
    EKS,
    ZONE,
    labels_of,
    single_values,
)
from local.aws.api.own_services import Document
from local.aws.ec2.interfaces import efa_interfaces
from local.fleet.boot.images import Family, ami_type_of
from local.fleet.gpus.hardware import hardware
from local.fleet.machine import Machine
from local.kubernetes.api import Object

UNREGISTERED = {"key": "karpenter.sh/unregistered", "value": "", "effect": "NoExecute"}
#: EKS user guide, automode-learn-instances.
_MAX_PODS = 110
_GPUS = "nvidia.com/gpu"


def labels(launched: Launched, claim: Object) -> Mapping[str, str]:
    """The labels of node and claim."""
    return {
        **single_values(claim["spec"]["requirements"]),
        **labels_of(launched.instance_type),
        **(claim["metadata"].get("labels") or {}),
        ZONE: launched.zone,
        CAPACITY_TYPE: launched.capacity_type,
        f"{EKS}compute-type": "auto",
    }


def machine(
    launched: Launched, claim: Object, cluster: Document, instance: Document, pod_addresses: int | None
) -> Machine:
    """The machine for the simulator. `cluster` and `instance` are what EKS and EC2 describe."""
    spec, known = claim["spec"], labels_of(launched.instance_type)
    architecture = "arm64" if known[ARCHITECTURE] == "arm64" else "x86_64"
    gpus = f"{EKS}instance-gpu-count" in known
    return Machine(
        instance_id=launched.instance,
        instance_type=launched.instance_type,
        zone=launched.zone,
        private_ip=instance["PrivateIpAddress"],
        private_dns=launched.instance,
        cluster=cluster["name"],
        nodegroup=(claim["metadata"].get("labels") or {}).get("karpenter.sh/nodepool", ""),
        labels=labels(launched, claim),
        taints=[*(spec.get("taints") or []), *(spec.get("startupTaints") or []), UNREGISTERED],
        ami_type=ami_type_of(Family.BOTTLEROCKET, architecture, nvidia=gpus),
        max_pods=_MAX_PODS,
        launched=instance["LaunchTime"].timestamp(),
        efa=efa_interfaces(instance),
        kubernetes_version=cluster["version"],
        gpus_at_ready=True,
        pod_addresses=pod_addresses,
    )


def amounts(launched: Launched) -> Object:
    """Capacity and allocatable of a claim, before its node is there."""
    inside = hardware(launched.instance_type)
    both = {"cpu": str(inside.vcpus), "memory": f"{inside.memory_mib}Mi", "pods": str(_MAX_PODS)}
    if inside.gpus:
        both[_GPUS] = str(inside.gpus)
    return {"capacity": both, "allocatable": both}
