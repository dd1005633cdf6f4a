"""Which instant of the virtual clock belonged to which of the machine's, and the other way round, ever since it began.

Kubernetes lives in the machine's time and keeps whole seconds only; this tells what its stamps mean to
everybody else. All instants are epochs in seconds.
"""

import threading
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

#: A step of this many virtual seconds is a jump; less is arithmetic.
_JUMP = 1e-3


@dataclass(frozen=True, slots=True)
class _Stretch:
    """From the machine's `real` on: virtual + (machine - real) * rate."""

    real: float
    virtual: float
    rate: float

    def at(self, real: float) -> float:
        return self.virtual + (real - self.real) * self.rate


class ClockHistory:
    """Stretches of one rate, in order; before the first there is only the first."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._jumps: list[float] = []
        self._lock = threading.Lock()

    def begin(self, real: float, virtual: float, rate: float) -> None:
        """A stretch begins; neither clock goes back."""
        with self._lock:
            if self._stretches and virtual - self._stretches[-1].at(real) > _JUMP:
                self._jumps.append(real)
            self._stretches.append(_Stretch(real, virtual, rate))

    def virtual(self, real: float) -> float:
        """The virtual instant of one of the machine's."""
        with self._lock:
            return self._at(real)

    def virtual_of_second(self, second: int) -> float:
        """The virtual instant that a stamp of whole seconds stands for.

        What is stamped with a second happened somewhere in it. The clock jumps over stretches in which
        nothing happens, so what happened in a second with a jump came after it. It is told of a whole
        second before the next one's at least: two stamps are never told as one.
        """
        with self._lock:
            last = bisect_left(self._jumps, second + 1) - 1
            if last < 0 or self._jumps[last] < second:
                return self._at(second)
            return min(self._at(self._jumps[last]), self._at(second + 1) - 1)

    def real(self, virtual: float) -> float:
        """The machine's instant of a virtual one; of one that was jumped over, the jump's."""
        with self._lock:
            after = bisect_right(self._stretches, virtual, key=lambda stretch: stretch.virtual)
            stretch = self._stretches[max(after - 1, 0)]
            real = stretch.real + (virtual - stretch.virtual) / stretch.rate
            return min(real, self._stretches[after].real) if 0 < after < len(self._stretches) else real

    def _at(self, real: float) -> float:
        after = bisect_right(self._stretches, real, key=lambda stretch: stretch.real)
        return self._stretches[max(after - 1, 0)].at(real)
