"""The seats of a lease that pods held, by the guard's sweeps: the most at once, and the GPU-hours that they had.

A seat is held while a pod holds a GPU or a share of one. A reading stands for the time since the reading before it, as
in gpu_hours.py; what no reading stands for counts as not used.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from lamplighter.domain.billing.gpu_hours import LONGEST


@dataclass(frozen=True, slots=True)
class SeatUse:
    """What is read of a lease's seats up to an instant."""

    read_until: datetime | None = None
    most: int = 0
    """The most seats that were held at once."""
    seconds: int = 0
    """GPU-seconds that seats had: a pod with a quarter of a GPU has a quarter of its time."""

    def with_reading(self, held: int, gpus: float, now: datetime) -> Self:
        """With a reading: so many seats held, and so many whole GPUs in them. The first one only begins the time."""
        if self.read_until is not None and now <= self.read_until:
            return self
        lasted = min(now - self.read_until, LONGEST).total_seconds() if self.read_until else 0
        return type(self)(now, max(self.most, held), self.seconds + round(gpus * lasted))

    def of(self, asked: int, paid_seconds: int) -> "Seats":
        """The seats of a lease that asked for so many and paid these GPU-seconds; never more hours used than paid."""
        paid = round(paid_seconds / 3600, 2)
        if self.read_until is None:
            return Seats(asked, None, paid, None)
        return Seats(asked, self.most, paid, min(paid, round(self.seconds / 3600, 2)))


@dataclass(frozen=True, slots=True)
class Seats:
    """As a receipt has them; None where no sweep read them."""

    asked: int = 0
    used: int | None = None
    gpu_hours_paid: float = 0
    gpu_hours_used: float | None = None
