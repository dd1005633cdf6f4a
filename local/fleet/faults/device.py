"""The effects of a fault on a node's GPUs, driver and device plugin, in the words of NVIDIA's software."""

from local.fleet.faults.node import XID
from local.fleet.gpus.gpu_sharing import Sharing
from local.fleet.gpus.hardware import DRIVER_VERSION
from local.fleet.interfaces import Node
from local.fleet.programs.cuda import gpu_uuid

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
NVML_VERSION = f"NVML library version: {DRIVER_VERSION.rpartition('.')[0]}"
BROKEN = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
    "NVIDIA driver is installed and running."
)


def no_devices(kubelet: Node) -> str:
    """What the device plugin prints if it has no device to offer; "" if it has one."""
    if not kubelet.machine.nvidia_image:
        return (
            "E factory.go:112] Incompatible platform detected\n"
            "E factory.go:113] could not load NVML library: libnvidia-ml.so.1: cannot open shared object file"
        )
    if kubelet.suffers("driver-mismatch"):
        return f"E factory.go:87] {MISMATCH}"
    if kubelet.suffers("driver-broken"):
        return "E factory.go:87] Failed to initialize NVML: Driver Not Loaded"
    if not kubelet.gpus:
        return "I main.go:287] No devices found. Waiting indefinitely."
    return ""


def driver_fails(kubelet: Node) -> str:
    """What nvidia-smi prints for the validator if the driver does not work; "" if it does."""
    if not kubelet.machine.nvidia_image:
        return "couldn't find nvidia-smi on the host: no pre-installed driver"
    if kubelet.suffers("driver-mismatch"):
        return f"{MISMATCH}\n{NVML_VERSION}"
    return BROKEN if kubelet.suffers("driver-broken") else ""


def announce(kubelet: Node, sharing: Sharing) -> None:
    """Tells the kubelet which GPUs exist; dead ones are listed as unhealthy."""
    healthy = kubelet.gpus - len(kubelet.dead)
    kubelet.announce(
        sharing.resource, kubelet.gpus * sharing.replicas, healthy=max(healthy, 0) * sharing.replicas
    )


def to_die(kubelet: Node) -> bool:
    """Whether a GPU of the machine will fall off the bus: one GPU, once in the life of the machine."""
    return kubelet.suffers("xid") and not kubelet.dead and kubelet.gpus > 0


def die(kubelet: Node) -> str:
    """Makes the GPU fall off the bus. Returns what the device plugin prints."""
    kubelet.dead.add(0)
    device = gpu_uuid(kubelet.machine.instance_id, 0)
    return f"I health.go:133] XidCriticalError: Xid={XID} on Device={device}; marking device as unhealthy."
