"""torchrun in two pods: they meet at the first rank's port, send each other bytes, and rank 0 prints the table.

With `--nnodes 1` the ranks are the GPUs of one pod, and the bytes go over NVLinks, or over PCIe where there are none.

If the network between their machines is closed, or the other rank never runs, PyTorch's store gives up after 120
seconds, before NCCL has printed anything.
"""

import re
from collections.abc import Generator

from moto.ec2.models.instance_types import INSTANCE_TYPES

from local.fleet.coroutines import Pause
from local.fleet.interfaces import Container
from local.fleet.world import labels
from local.kubernetes.api import Object
from local.kubernetes.placement import requests

Program = Generator[Pause, None, int]
_EFA = "vpc.amazonaws.com/efa"
_INDEX = "batch.kubernetes.io/job-completion-index"
_JOB = "batch.kubernetes.io/job-name"
_STORE_SECONDS = 120.0
_LOOK_SECONDS = 2.0
#: Seconds to import PyTorch, make a CUDA context, and for NCCL's own bootstrap.
_BEGIN_SECONDS = 14.0
_SLICE_SECONDS = 30
#: The part of a link that sockets can use, and the most that they carry without EFA.
_SHARE, _SOCKETS_GBPS = 0.93, 25.0
#: GB/s of bus bandwidth between the GPUs of a machine over PCIe [est].
_PCIE = 10.0
_EPHEMERAL = 45000
_REST_OF_PLAN = "step: 2(factor) warmup iters: 2 iters: 20 agg iters: 1 validation: 1 graph: 0"


def torchrun(container: Container) -> Program:
    """One rank of two, or all ranks of one node."""
    asked = re.search(r"--master-addr (\S+) --master-port (\d+) \S+ (\w+) (\d+) (\d+)", container.words)
    if asked is None or container.pod.kubelet.hardware.gpu is None or not container.pod.gpus:
        container.say("RuntimeError: Found no NVIDIA driver on your system.")
        return 1
    address, port, what, first, second = asked[1], int(asked[2]), asked[3], int(asked[4]), int(asked[5])
    rank = int(labels(container.pod.pod).get(_INDEX, "0"))
    if "--nnodes 1 " in container.words:
        return (
            yield from _collective(container, [container.pod.name] * container.pod.gpus, what, first, second)
        )
    gives_up = container.pod.world.coroutines.time() + _STORE_SECONDS
    while (other := _other(container)) is None or not _open(container, other, port):
        # By the clock, because each check takes time as well.
        if container.pod.world.coroutines.time() >= gives_up:
            return _gives_up(container, address, port, rank)
        yield _LOOK_SECONDS
    return (
        yield from _collective(
            container, [container.pod.name, other["metadata"]["name"]], what, first, second, rank
        )
    )


def _collective(  # noqa: PLR0917 -- the words of the program, and who runs it
    container: Container, hosts: list[str], what: str, first: int, second: int, rank: int = 0
) -> Program:
    yield _BEGIN_SECONDS
    container.say(f"{container.pod.name}:101:101 [0] NCCL INFO Bootstrap : Using eth0")
    efa = len(set(hosts)) > 1 and requests(container.pod.pod).get(_EFA)
    network = "NET/OFI Selected provider is efa, fabric is efa" if efa else "NET/Socket : Using [0]eth0"
    container.say(f"{container.pod.name}:101:101 [0] NCCL INFO {network}")
    sustained = what == "sustained"
    operation = "all_reduce" if sustained else what
    sizes = [first] * (second // _SLICE_SECONDS) if sustained else _doubled(first, second)
    bandwidth = _bandwidth(container) if len(set(hosts)) > 1 else _bandwidth_within(container)
    factor = (len(hosts) - 1) / len(hosts) * (1 if operation == "all_gather" else 2)
    yield sum(
        _SLICE_SECONDS if sustained else _times(size) * size * factor / bandwidth / 1e9 for size in sizes
    )
    if rank == 0:
        container.say(_table(container, hosts, operation, sizes, bandwidth, factor))
    return 0


def _other(container: Container) -> Object | None:
    """The other rank's pod, once its container runs."""
    mine = container.pod.pod
    job = labels(mine).get(_JOB)
    for pod in container.pod.world.pods.all():
        same = job is not None and labels(pod).get(_JOB) == job
        if (
            same
            and pod["metadata"]["uid"] != mine["metadata"]["uid"]
            and "deletionTimestamp" not in pod["metadata"]
        ):
            running = pod.get("status", {}).get("phase") in {"Running", "Succeeded"}
            return pod if running else None
    return None


def _open(container: Container, other: Object, port: int) -> bool:
    """Whether the second rank reaches the first one's port, and each rank reaches any port of the other."""
    world, here = container.pod.world, container.pod.kubelet.machine.instance_id
    node = world.nodes.find("", other["spec"].get("nodeName", ""))
    there = str((node or {}).get("spec", {}).get("providerID", "")).rpartition("/")[2]
    ways = ((here, there, port), (there, here, port), (here, there, _EPHEMERAL), (there, here, _EPHEMERAL))
    return all(world.network.allows(source, target, one) for source, target, one in ways)


def _gives_up(container: Container, address: str, port: int, rank: int) -> int:
    milliseconds = int(_STORE_SECONDS * 1000)
    store = f"[{address}]:{port}"
    if rank == 0:
        container.say(
            "torch.distributed.DistStoreError: Timed out after 121 seconds waiting for clients. 1/2 clients joined."
        )
    else:
        container.say(
            f"[W1120 TCPStore.cpp:340] [c10d] The client socket has timed out after {milliseconds}ms while trying "
            f"to connect to ({address}, {port}).\n"
            f"torch.distributed.DistNetworkError: The client socket has timed out after {milliseconds}ms while "
            f"trying to connect to ({store})."
        )
    return 1


def _doubled(least: int, most: int) -> list[int]:
    sizes = [least]
    while sizes[-1] * 2 <= most:
        sizes.append(sizes[-1] * 2)
    return sizes


def _times(size: int) -> int:
    return 22 if size <= 64 * 1024**2 else 7


def _bandwidth(container: Container) -> float:
    """GB/s between the two: the peak, or the baseline of a machine whose burst is used up."""
    kubelet = container.pod.kubelet
    cards = INSTANCE_TYPES[kubelet.machine.instance_type].get("NetworkInfo", {}).get("NetworkCards") or [{}]
    key = "BaselineBandwidthInGbps" if kubelet.suffers("bandwidth-throttled") else "PeakBandwidthInGbps"
    return float(min(cards[0].get(key, 10.0), _SOCKETS_GBPS)) * _SHARE / 8


def _bandwidth_within(container: Container) -> float:
    """GB/s between the GPUs of the machine."""
    kubelet = container.pod.kubelet
    nvlink = kubelet.hardware.gpu.nvlink if kubelet.hardware.gpu else 0
    return _PCIE if kubelet.suffers("nvlink-down") or not nvlink else nvlink


def _table(  # noqa: PLR0917 -- all that stands in it
    container: Container,
    hosts: list[str],
    operation: str,
    sizes: list[int],
    bandwidth: float,
    factor: float,
) -> str:
    gpu = container.pod.kubelet.hardware.gpu
    name = gpu.name if gpu else ""
    ranks = "\n".join(
        f"#  Rank {rank:>2} Group  0 Pid    {101 + rank} on {host} device {hosts[:rank].count(host):>2} {name}"
        for rank, host in enumerate(hosts)
    )
    rows = []
    for size in sizes:
        algorithm = bandwidth / factor
        microseconds = size / algorithm / 1e3
        rows.append(
            f"{size:>12}{size // 4:>14}     float     sum      -1      N/A     N/A     N/A    N/A"
            f"{microseconds:>9.1f}{algorithm:>8.3f}{bandwidth:>8.3f}{0:>7}"
        )
    return "\n".join(
        [
            f"# Collective test starting: {operation}_perf",
            f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} {_REST_OF_PLAN}",
            "#\n# Using devices",
            ranks,
            "#",
            *rows,
            "# Out of bounds values : 0 OK",
            f"# Avg bus bandwidth    : {bandwidth:.3f}\n#",
            f"# Collective test concluded: {operation}_perf",
        ]
    )
