"""The Node object that a machine's kubelet registers, as an EKS node looks at each stage before any GPU component."""

from collections.abc import Iterable

from local.fleet.boot.images import Family, minor, node_info, windows_build
from local.fleet.gpus.hardware import hardware
from local.fleet.machine import Machine
from local.kubernetes.api import Object

#: The cloud controller removes it when it has found the instance.
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
GPU_PRESENT = "nvidia.com/gpu.present"
#: The minor version from which nodeadm labels a node with GPUs.
NODEADM_LABELS = 35
#: MiB of huge pages that EFA's installer reserves for each vCPU (bottlerocket-core-kit, pull request 141).
_PAGES_A_VCPU = 220
_NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)


def node(machine: Machine, kubelet_port: int, at: str, more_taints: Iterable[Object] = ()) -> Object:
    """The node at its registration: not Ready, with the node group's labels and taints and the startup taint."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.node_name, "labels": _labels(machine)},
        "spec": {
            "providerID": f"aws:///{machine.zone}/{machine.instance_id}",
            "taints": [
                *(dict(taint) for taint in machine.taints),
                *more_taints,
                {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"},
            ],
        },
        "status": {
            **_resources(machine),
            "addresses": [
                {"type": "InternalIP", "address": machine.private_ip},
                # The address of the simulated kubelet; on AWS a node in a private subnet has no such address.
                {"type": "ExternalIP", "address": "127.0.0.1"},
                {"type": "InternalDNS", "address": machine.private_dns},
                {"type": "Hostname", "address": machine.private_dns},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            "conditions": stamped(conditions(ready=False), at),
            "nodeInfo": _info(machine),
        },
    }


def conditions(*, ready: bool) -> list[Object]:
    """A kubelet's conditions: healthy, except for the network while it is not ready."""
    health = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ]
    return [*(condition(*each) for each in health), network(up=ready)]


def network(*, up: bool) -> Object:
    """The Ready condition of a healthy kubelet, which depends on the network plugin."""
    if up:
        return condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    return condition("Ready", "False", "KubeletNotReady", _NO_NETWORK)


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    """A node's condition; `stamped` gives the time of its last change."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def lost() -> list[Object]:
    """The conditions that the node controller writes when a kubelet stops its heartbeats."""
    kinds = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    why = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    return [condition(kind, "Unknown", *why) for kind in kinds]


def stamped(conditions: Iterable[Object], at: str) -> list[Object]:
    """Conditions that change at this instant."""
    return [{**one, "lastHeartbeatTime": at, "lastTransitionTime": at} for one in conditions]


def _labels(machine: Machine) -> dict[str, str]:
    labels = {
        "kubernetes.io/os": "windows" if machine.image.windows else "linux",
        "kubernetes.io/arch": machine.image.node_architecture,
        "kubernetes.io/hostname": machine.private_dns,
        "node.kubernetes.io/instance-type": machine.instance_type,
        "topology.kubernetes.io/region": machine.region,
        "topology.kubernetes.io/zone": machine.zone,
        "k8s.io/cloud-provider-aws": "5e2c3c4f7d1a0b9e8f6d5c4b3a291807",
        **machine.labels,
    }
    if machine.image.windows:
        labels["node.kubernetes.io/windows-build"] = windows_build(machine.image)
    if machine.nvidia_image and not _before_nodeadm_labels(machine):
        # It proves nothing.
        labels[GPU_PRESENT] = "true"
    return labels


def _before_nodeadm_labels(machine: Machine) -> bool:
    """nodeadm itself writes the label from Kubernetes 1.35 on."""
    return machine.image.family is Family.AL2023 and minor(machine.kubernetes_version) < NODEADM_LABELS


def _resources(machine: Machine) -> Object:
    """Capacity, and the rest after EKS's reservations (amazon-eks-ami)."""
    inside = hardware(machine.instance_type)
    cores = [0.06, 0.01, 0.005, 0.005]
    reserved_cpu = round(sum([*cores, *[0.0025] * inside.vcpus][: inside.vcpus]) * 1000)
    memory = inside.memory_mib * 1024 * 96 // 100
    reserved_memory = (255 + 11 * machine.max_pods + 100) * 1024
    # EFA's installer reserves huge pages (ofiwg/libfabric 9739), Bottlerocket does not (its pull request 4411).
    reserves = machine.efa and machine.image.family is Family.AL2023
    pages = inside.vcpus * _PAGES_A_VCPU + 2 if reserves else 0
    both = {
        "pods": str(machine.max_pods),
        "hugepages-1Gi": "0",
        "hugepages-2Mi": f"{pages}Mi" if pages else "0",
    }
    return {
        "capacity": {
            "cpu": str(inside.vcpus),
            "memory": f"{memory}Ki",
            "ephemeral-storage": "104779756Ki",
            **both,
        },
        "allocatable": {
            "cpu": f"{inside.vcpus * 1000 - reserved_cpu}m",
            "memory": f"{memory - reserved_memory}Ki",
            "ephemeral-storage": "95491281146",
            **both,
        },
    }


def _info(machine: Machine) -> Object:
    return {
        "bootID": f"boot-{machine.instance_id}",
        "kubeProxyVersion": "",
        "machineID": machine.instance_id,
        "systemUUID": machine.instance_id,
        **node_info(machine.image, machine.kubernetes_version),
    }
