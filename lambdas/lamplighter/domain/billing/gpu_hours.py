"""GPU hours of a lease: how many of the paid ones a GPU was busy, by the guard's readings of the DCGM exporters.

A reading stands for the time since the reading before it, for six minutes at most: a sweep runs every five. Time that
no reading stands for is not known; it is neither busy nor idle. domain/gpu/gpu_use.py says when a GPU is busy.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from lamplighter.domain.gpu.gpu_use import NodeReading
from lamplighter.domain.leases.lease import Lease

LONGEST = timedelta(minutes=6)


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What is read of a lease's GPUs up to an instant, in GPU-seconds."""

    read_until: datetime | None = None
    busy: int = 0
    idle: int = 0

    def with_reading(self, readings: list[NodeReading], part: float, now: datetime) -> Self:
        """With a reading of the pool's nodes, of which a lease has this part. The first one only begins the count."""
        if self.read_until is None or now <= self.read_until:
            return self if self.read_until else replace(self, read_until=now)
        states = [busy for _, gpus in readings for busy in (gpus or {}).values()]
        seconds = min(now - self.read_until, LONGEST).total_seconds() * part
        busy = round(sum(states) * seconds)
        return replace(
            self, read_until=now, busy=self.busy + busy, idle=self.idle + round(len(states) * seconds) - busy
        )

    def hours(self, paid_seconds: int) -> "GpuHours":
        """The hours that were paid, and which of them are known as used or idle; never more than were paid."""
        paid = round(paid_seconds / 3600, 2)
        used = min(paid, round(self.busy / 3600, 2))
        idle = min(round(paid - used, 2), round(self.idle / 3600, 2))
        return GpuHours(paid, used, idle, round(paid - used - idle, 2))


@dataclass(frozen=True, slots=True)
class GpuHours:
    """As a receipt has them. The last three add up to the first."""

    gpu_hours_paid: float = 0
    gpu_hours_used: float = 0
    gpu_hours_idle: float = 0
    gpu_hours_not_known: float = 0


def part(lease: Lease, leases: tuple[Lease, ...], nodes: int) -> float:
    """The part of the pool's nodes that a lease in force pays for: the earlier opening has its nodes first."""
    before = sum(each.wanted for each in leases if (each.opens, each.id) < (lease.opens, lease.id))
    return max(0, min(lease.wanted, nodes - before)) / max(nodes, 1)
