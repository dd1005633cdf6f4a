"""The ladder of GPU checks: the command of each check, its longest time, and the parser that judges its output.

manifests.py makes the pods, ladder_progress.py says what is due, time_limit.py counts the time, and node.py has the
checks that need no pod.

To add a check: write its parser in verdicts/ with its reasons in data/texts/<language>/check.json, make a `Check` below
and put it into LADDERS, in the order of the stages. Its time has to fit BUDGETS. CONTRIBUTING.md names the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from lamplighter.domain.checks.verdicts import nvidia_smi as verdict_nvidia_smi
from lamplighter.domain.checks.verdicts import vector_add as verdict_vector_add
from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.nvlink import nvlink
from lamplighter.domain.checks.verdicts.torch import torch_collective
from lamplighter.domain.checks.verdicts.verdict import Verdict
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.checks import Checks

NAMESPACE = "lamplighter"
LEASE_LABEL = "lamplighter/lease"
POOL_LABEL = "lamplighter/pool"
CHECK_LABEL = "lamplighter/check"
SEAT_LABEL = "lamplighter/seat"
"""The name of one check on its node or pair: all pods of a pair share it."""
ASKED_ANNOTATION = "lamplighter/asked"
"""When we first created the pod, by our own clock: the cluster's may differ."""

#: Seconds from a node's Ready to the last verdict on it, without image pulls.
BUDGETS = {"smoke": 120, "standard": 480, "deep": 1800}
#: The additional seconds of dcgmi's level 4: up to two hours and a quarter.
LEVEL_4_SECONDS = 8100

MIB, GIB = 1024**2, 1024**3
Judge = Callable[[str, int, int, GpuType], Verdict]


@dataclass(frozen=True)
class Check:
    """One check. Checks of one `stage` start together; a later stage waits for all earlier ones."""

    name: str
    stage: int
    image: str
    """Its name in data/gpu/images.json."""
    command: tuple[str, ...]
    """Empty for the image's own command."""
    seconds: int
    """The longest time from its start; a check that takes longer is not proven."""
    judge: Judge
    all_gpus: bool = True
    """Whether it takes every GPU of the node, or one GPU."""
    nodes: int = 1
    """2 for a collective between two nodes."""
    root: bool = False
    """Whether it runs as the image's own user, which is root; it never has privileges."""
    whole: bool = False
    """Whether it needs GPUs that are neither sliced by MIG nor shared by MPS."""
    several: bool = False
    """Whether it is about what lies between the GPUs of one node: nothing on a type with one GPU."""
    fabric: bool = False
    """Whether it is about the fabric of NVSwitches that Fabric Manager sets up: nothing on a type without."""
    nvlinks: bool = False
    """Whether it is about the NVLinks between the GPUs: nothing on a type without."""

    def concerns(self, kind: GpuType) -> bool:
        """Whether the type has what the check is about."""
        fabric, nvlinks = kind.fabric or not self.fabric, kind.nvlinks > 0 or not self.nvlinks
        return (kind.count > 1 or not self.several) and fabric and nvlinks

    def gpus(self, node: NodeFacts, kind: GpuType) -> int:
        """The number of schedulable units that it asks for; a unit of a shared GPU is a part of it."""
        shared = node.labels.get("nvidia.com/gpu.replicas", "1") != "1"
        return kind.count if self.all_gpus and not shared and not node.sliced else 1


def _vector_add(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    del gpus, kind
    return verdict_vector_add.vector_add(text, exit_code)


def _smi(name: str, columns: tuple[str, ...]) -> Check:
    command = ("nvidia-smi", f"--query-gpu={','.join(columns)}", "--format=csv")
    return Check(name, 0, "cuda_sample", command, seconds=30, judge=nvidia_smi)


# It starts a host engine of its own on loopback, and writes only to /tmp.
_DCGM = (
    "nv-hostengine --bind-interface 127.0.0.1 --pid /tmp/nv-hostengine.pid --log-filename /tmp/nv-hostengine.log"
    " >/dev/null 2>&1; "
    "for _ in 1 2 3 4 5 6 7 8 9 10; do dcgmi discovery -l >/dev/null 2>&1 && break; sleep 1; done; "
    "exec dcgmi diag -r {level} -j{more}"
)
#: Level 3, with its two targeted tests shortened from 120 s each.
_SHORTENED = ' -p "targeted_stress.test_duration=30;targeted_power.test_duration=30"'


def _dcgm(level: int, stage: int, seconds: int, more: str = "") -> Check:
    command = ("sh", "-c", _DCGM.format(level=level, more=more))
    return Check(
        f"dcgm-{level}", stage, "dcgm", command, seconds=seconds, judge=dcgm, root=True, whole=level > 1
    )


def _collective(name: str, stage: int, seconds: int, *what: str, nodes: int = 2) -> Check:
    """`what` are the arguments of data/gpu/collective.py."""
    return Check(
        name,
        stage,
        "pytorch",
        what,
        seconds=seconds,
        judge=torch_collective,
        all_gpus=nodes == 1,
        nodes=nodes,
        root=True,
        whole=True,
        several=nodes == 1,
    )


NVIDIA_SMI = _smi("nvidia-smi", verdict_nvidia_smi.PRESENCE)
VECTOR_ADD = Check("vectoradd", 0, "cuda_sample", (), seconds=30, judge=_vector_add, all_gpus=False)
GPU_HEALTH = _smi("gpu-health", verdict_nvidia_smi.HEALTH)
FABRIC = replace(_smi("fabric", verdict_nvidia_smi.FABRIC), fabric=True)
_NVLINK = ("nvidia-smi", "nvlink", "--status")
NVLINK = Check("nvlink", 0, "cuda_sample", _NVLINK, seconds=30, judge=nvlink, whole=True, nvlinks=True)
DCGM_1 = _dcgm(1, 1, 120)
DCGM_2 = _dcgm(2, 2, 300)
#: `dcgmi diag -r 2` passes with every NVLink down (NVIDIA/DCGM issue 198). Its floor is published for 1 GiB.
ALL_REDUCE_NODE = _collective("all_reduce_node", 3, 180, "all_reduce", str(MIB), str(GIB), nodes=1)
ALL_REDUCE = _collective("all_reduce", 4, 240, "all_reduce", str(MIB), str(256 * MIB))
ALL_REDUCE_1G = _collective("all_reduce", 4, 420, "all_reduce", str(MIB), str(GIB))
ALL_GATHER = _collective("all_gather", 5, 300, "all_gather", str(MIB), str(256 * MIB))
SUSTAINED = _collective("sustained", 6, 420, "sustained", str(256 * MIB), "300")
DCGM_3 = _dcgm(3, 7, 1200, _SHORTENED)
DCGM_4 = _dcgm(4, 8, LEVEL_4_SECONDS)

_SMOKE = (NVIDIA_SMI, VECTOR_ADD)
_STANDARD = (*_SMOKE, GPU_HEALTH, FABRIC, NVLINK, DCGM_1, DCGM_2)
LADDERS: dict[str, tuple[Check, ...]] = {
    "smoke": _SMOKE,
    "standard": (*_STANDARD, ALL_REDUCE_NODE, ALL_REDUCE),
    "deep": (*_STANDARD, ALL_REDUCE_NODE, ALL_REDUCE_1G, ALL_GATHER, SUSTAINED, DCGM_3),
}


def ladder(checks: Checks) -> tuple[Check, ...]:
    """The checks that need pods, in the order of their stages."""
    level_4 = (DCGM_4,) if _with_level_4(checks) else ()
    return LADDERS[checks.ladder] + level_4


def compared_between_nodes(checks: Checks) -> list[str]:
    """The checks of the ladder that compare nodes with each other."""
    return [check.name for check in ladder(checks) if check.nodes > 1]


def budget_seconds(checks: Checks) -> int:
    """The seconds of the ladder from a node's Ready on, without image pulls."""
    return BUDGETS[checks.ladder] + (LEVEL_4_SECONDS if _with_level_4(checks) else 0)


def _with_level_4(checks: Checks) -> bool:
    return checks.ladder == "deep" and checks.dcgm_level_4
