"""The processors, memory and GPUs of an instance type, by EC2, and by the names of NVIDIA's tools."""

from dataclasses import dataclass

from moto.ec2.models.instance_types import INSTANCE_TYPES

#: Driver and CUDA of the AL2023 NVIDIA image for Kubernetes 1.35 (amazon-eks-ami v20260714).
DRIVER_VERSION = "580.159.03"
CUDA_VERSION = "13.0"


@dataclass(frozen=True)
class Gpu:
    """A GPU model as nvidia-smi (`name`) and GPU feature discovery (`product`) print it; memory in MiB."""

    name: str
    memory_mib: int
    family: str
    compute: tuple[int, int]
    remaps_rows: bool = True
    nvlink: float = 0
    """GB/s of bus bandwidth of an all_reduce over the NVLinks of one machine; 0 without NVLinks."""

    links: tuple[int, str] | None = None
    """How many NVLinks it has, and the GB/s of each as nvidia-smi prints it."""

    @property
    def fabric(self) -> bool:
        """Whether NVML tells the state of the fabric of NVSwitches."""
        return bool(self.nvlink) and self.compute >= (9, 0)

    @property
    def product(self) -> str:
        return self.name.replace(" ", "-")


#: By EC2's name of the model. NVLinks of A100 and H100 by github.com/NVIDIA/nccl issue 527 and nccl-tests issue 309.
_MODELS = {
    "T4": Gpu("Tesla T4", 15360, "turing", (7, 5), remaps_rows=False),
    "T4g": Gpu("NVIDIA T4G", 15360, "turing", (7, 5), remaps_rows=False),
    "V100": Gpu("Tesla V100-SXM2-32GB", 32768, "volta", (7, 0), remaps_rows=False),
    "A10G": Gpu("NVIDIA A10G", 23028, "ampere", (8, 6)),
    "L4": Gpu("NVIDIA L4", 23034, "ada-lovelace", (8, 9)),
    "L40S": Gpu("NVIDIA L40S", 46068, "ada-lovelace", (8, 9)),
    "A100": Gpu("NVIDIA A100-SXM4-40GB", 40960, "ampere", (8, 0), nvlink=230.8, links=(12, "25")),
    "H100": Gpu("NVIDIA H100 80GB HBM3", 81559, "hopper", (9, 0), nvlink=275, links=(18, "26.562")),
    "H200": Gpu("NVIDIA H200", 143771, "hopper", (9, 0), nvlink=275, links=(18, "26.562")),
    # From here on the names, the memory and the NVLinks are an estimate.
    "B200": Gpu("NVIDIA B200", 183359, "blackwell", (10, 0), nvlink=600, links=(18, "53.125")),
    "B300": Gpu("NVIDIA B300", 275040, "blackwell", (10, 3), nvlink=600, links=(18, "53.125")),
    "RTX PRO 4500": Gpu("NVIDIA RTX PRO 4500 Blackwell", 32623, "blackwell", (12, 0)),
    "RTX PRO Server 6000": Gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "blackwell", (12, 0)),
}


@dataclass(frozen=True)
class Hardware:
    """`gpu` is None where `gpus` is 0."""

    vcpus: int
    memory_mib: int
    gpus: int
    gpu: Gpu | None


def hardware(instance_type: str) -> Hardware:
    """The hardware of an instance type. Raises KeyError for an unknown type or GPU."""
    known = INSTANCE_TYPES[instance_type]
    boards = [
        board for board in known.get("GpuInfo", {}).get("Gpus", []) if board.get("Manufacturer") == "NVIDIA"
    ]
    return Hardware(
        vcpus=known["VCpuInfo"]["DefaultVCpus"],
        memory_mib=known["MemoryInfo"]["SizeInMiB"],
        gpus=sum(board["Count"] for board in boards),
        gpu=_MODELS[boards[0]["Name"]] if boards else None,
    )


def has_gpus(instance_type: str) -> bool:
    """Whether the type has GPUs, by EC2; False for an unknown type."""
    boards = INSTANCE_TYPES.get(instance_type, {}).get("GpuInfo", {}).get("Gpus", [])
    return any(board.get("Manufacturer") == "NVIDIA" for board in boards)
