"""The labels of discovery on a GPU node: NFD's from the PCI bus, and GPU feature discovery's from the driver."""

from collections.abc import Mapping

from local.fleet.gpus.gpu_sharing import Sharing
from local.fleet.gpus.hardware import CUDA_VERSION, DRIVER_VERSION, Hardware
from local.fleet.gpus.mig import CAPABLE, capable

#: PCI vendor 10de is NVIDIA.
PCI_NVIDIA = "feature.node.kubernetes.io/pci-10de.present"


def pci_labels(inside: Hardware) -> dict[str, str]:
    """NFD's labels for the machine's display controllers."""
    common = {"feature.node.kubernetes.io/kernel-version.major": "6"}
    return common | ({PCI_NVIDIA: "true"} if inside.gpus else {})


def discovered(
    inside: Hardware, gpus: int, sharing: Sharing, mig_strategy: str, slices: Mapping[str, int]
) -> dict[str, str]:
    """GPU feature discovery's labels for `gpus` visible GPUs. Slices that are all equal count as GPUs."""
    gpu = inside.gpu
    if gpu is None or not gpus:
        return {}
    driver, cuda = DRIVER_VERSION.split("."), CUDA_VERSION.split(".")
    shown = sharing.replicas > 1 and not sharing.renamed
    alike = next(iter(slices)) if len(slices) == 1 and mig_strategy == "single" else ""
    product = gpu.product + (f"-MIG-{alike}" if alike else "")
    strategy = {} if mig_strategy == "none" else {"nvidia.com/mig.strategy": mig_strategy}
    return strategy | {
        "nvidia.com/gpu.count": str(gpus * (slices[alike] if alike else 1)),
        "nvidia.com/gpu.replicas": str(sharing.replicas),
        "nvidia.com/gpu.product": product + ("-SHARED" if shown else ""),
        "nvidia.com/gpu.memory": str(gpu.memory_mib),
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.sharing-strategy": sharing.strategy,
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.compute.major": str(gpu.compute[0]),
        "nvidia.com/gpu.compute.minor": str(gpu.compute[1]),
        "nvidia.com/cuda.driver-version.full": DRIVER_VERSION,
        "nvidia.com/cuda.driver-version.major": driver[0],
        "nvidia.com/cuda.driver-version.minor": driver[1],
        "nvidia.com/cuda.driver-version.revision": driver[2],
        "nvidia.com/cuda.runtime-version.full": CUDA_VERSION,
        "nvidia.com/cuda.runtime-version.major": cuda[0],
        "nvidia.com/cuda.runtime-version.minor": cuda[1],
        CAPABLE: str(capable(gpu.name)).lower(),
        "nvidia.com/mps.capable": str(sharing.strategy == "mps").lower(),
    }
