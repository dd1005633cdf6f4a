"""The present instant of a clock, which stands or flows, and the file that other processes read it from."""

import math
import threading
import time
from pathlib import Path

from local.clock_file import ClockFile


class Present:
    """The present instant, as an epoch. It stands until somebody moves it or lets it flow.

    While it flows, a real second is at most `rate` virtual ones. Who changes it holds the lock.
    """

    def __init__(self, path: Path, start: float, rate: float) -> None:
        self.lock = threading.RLock()
        self._rate = _checked(rate)
        self._file = ClockFile(path)
        #: While it flows: the real and the virtual instant from which it flows, and the instant up to which it does.
        self._flow: tuple[float, float, float] | None = None
        self.move(start)

    @property
    def rate(self) -> float:
        return self._rate

    def set_rate(self, rate: float) -> None:
        checked = _checked(rate)
        self.stand()
        self._rate = checked

    def time(self) -> float:
        if self._flow is None:
            return self._instant
        with self.lock:
            return self._flowed()

    def move(self, epoch: float) -> None:
        self._instant = epoch
        self._file.write(epoch)

    def stand(self) -> None:
        """It stops flowing."""
        if self._flow is not None:
            self.move(self._flowed())
            self._flow = None

    def stop_at(self, epoch: float) -> None:
        """It does not flow past this instant."""
        if self._flow is not None and epoch < self._flow[2]:
            self.stand()

    def flow(self, until: float) -> float:
        """It flows up to this instant. Returns the real seconds that this takes."""
        if self._flow is None or self._flow[2] != until:
            self.stand()
            self._flow = (time.monotonic(), self._instant, until)
        return (until - self.time()) / self._rate

    def write(self) -> None:
        """Other processes see how far it has flowed."""
        self._file.write(self.time())

    def _flowed(self) -> float:
        if self._flow is None:
            return self._instant
        real, base, until = self._flow
        return min(base + (time.monotonic() - real) * self._rate, until)


def _checked(rate: float) -> float:
    if not 0 < rate < math.inf:
        raise ValueError(f"a clock needs a finite rate above 0, not {rate}")
    return rate
