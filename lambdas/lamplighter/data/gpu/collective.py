"""A collective between nodes under torchrun: prints the table that nccl-tests prints, on rank 0.

Runs inside the check's pod, not in our functions: all it needs is PyTorch. Words: `all_reduce LEAST MOST` and
`all_gather LEAST MOST` double the size from LEAST to MOST bytes; `sustained BYTES SECONDS` repeats one size and
prints a row for every 30 seconds.
"""

import os
import socket
import sys
import time
from collections.abc import Iterator
from datetime import timedelta

import torch  # type: ignore[import-not-found,unused-ignore]
import torch.distributed as dist  # type: ignore[import-not-found,unused-ignore]

WARM_UP = 2
SLICE_SECONDS = 30
HEADER = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"""


Row = tuple[str, float, int]
"""The line, GB/s of bus bandwidth, and wrong values."""


class Collective:
    """One size of one operation: how it is run, and how its values are told right or wrong."""

    def __init__(self, operation: str, size: int) -> None:
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.operation, self.size = operation, size
        self.count = size // 4
        self.whole = torch.empty(self.count, dtype=torch.float32, device="cuda")
        self.part = self.whole.chunk(self.ranks)[self.rank] if operation == "all_gather" else self.whole

    def once(self) -> None:
        if self.operation == "all_gather":
            dist.all_gather_into_tensor(self.whole, self.part)
        else:
            dist.all_reduce(self.whole)

    def wrong(self) -> int:
        """Values that are not what they must be, over all ranks."""
        self.whole.fill_(0)
        self.part.fill_(self.rank + 1)
        self.once()
        if self.operation == "all_gather":
            parts = enumerate(self.whole.chunk(self.ranks))
            bad = sum((part != rank + 1).sum() for rank, part in parts)
        else:
            bad = (self.whole != self.ranks * (self.ranks + 1) / 2).sum()
        total = bad.to(torch.float32).reshape(1)
        dist.all_reduce(total)
        return int(total.item())

    def seconds(self, times: int) -> float:
        """What one takes, on the slowest rank."""
        # Zeros stay zeros, however often they are added up.
        self.whole.fill_(0)
        torch.cuda.synchronize()
        dist.barrier()
        begun = time.perf_counter()
        for _ in range(times):
            self.once()
        torch.cuda.synchronize()
        took = torch.tensor([(time.perf_counter() - begun) / times], device="cuda")
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        return float(took.item())

    def row(self, seconds: float, wrong: int) -> Row:
        """Nothing is out of place here, so the first half is N/A."""
        bandwidth = self.size / seconds / 1e9
        factor = (self.ranks - 1) / self.ranks * (1 if self.operation == "all_gather" else 2)
        redop = "none" if self.operation == "all_gather" else "sum"
        return (
            (
                f"{self.size:>12}{self.count:>14}     float{redop:>8}      -1"
                f"      N/A     N/A     N/A    N/A"
                f"{seconds * 1e6:>9.1f}{bandwidth:>8.3f}{bandwidth * factor:>8.3f}{wrong:>7}"
            ),
            bandwidth * factor,
            wrong,
        )


def say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)  # noqa: T201 -- what is printed is the result


def times_of(size: int) -> int:
    """Enough to measure by, few enough for an instance that is held at its baseline."""
    return 20 if size <= 64 * 1024**2 else 5


def introduce(operation: str, least: int, most: int) -> None:
    device = torch.cuda.current_device()
    name = torch.cuda.get_device_name(device)
    mine = f"Pid {os.getpid():>6} on {socket.gethostname()} device {device:>2} {name}"
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, mine)
    ranks = "\n".join(f"#  Rank {rank:>2} Group  0 {each}" for rank, each in enumerate(everybody))
    say(f"# Collective test starting: {operation}_perf")
    say(
        f"# nThread 1 nGpus 1 minBytes {least} maxBytes {most} step: 2(factor) warmup iters: {WARM_UP}"
        f" iters: {times_of(most)} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{ranks}\n{HEADER}"
    )


def sizes(operation: str, least: int, most: int) -> Iterator[Row]:
    size = least
    while size <= most:
        collective = Collective(operation, size)
        collective.seconds(WARM_UP)
        yield collective.row(collective.seconds(times_of(size)), collective.wrong())
        size *= 2


def slices(size: int, seconds: int) -> Iterator[Row]:
    collective = Collective("all_reduce", size)
    times = max(1, int(SLICE_SECONDS / collective.seconds(WARM_UP)))
    ends = time.monotonic() + seconds
    going = torch.ones(1, device="cuda")
    while going.item():
        yield collective.row(collective.seconds(times), collective.wrong())
        # All ranks stop after the same slice.
        going.fill_(float(time.monotonic() < ends))
        dist.broadcast(going, 0)


def main() -> int:
    what, first, second = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl", timeout=timedelta(seconds=120))
    operation = "all_reduce" if what == "sustained" else what
    most = first if what == "sustained" else second
    introduce(operation, first, most)
    rows = slices(first, second) if what == "sustained" else sizes(operation, first, second)
    bandwidths, bad = [], 0
    for row, bandwidth, wrong in rows:
        say(row)
        bandwidths.append(bandwidth)
        bad += wrong
    say(f"# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}")
    say(f"# Avg bus bandwidth    : {sum(bandwidths) / len(bandwidths):.3f}\n#")
    say(f"# Collective test concluded: {operation}_perf")
    dist.destroy_process_group()
    return 7 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
