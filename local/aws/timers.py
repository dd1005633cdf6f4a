"""Actions at virtual instants; each runs alone.

Code whose behaviour happens without a call (a boot, a rolling update, a schedule) uses it instead of sleeping. When the
embedded AWS goes down, all pending actions are cancelled together.
"""

from collections.abc import Callable

from local.clock import VirtualClock
from local.clock_fibers import Appointment


class Timers:
    """Runs actions in the order of their instants; for the same instant, in the order in which they were added."""

    def __init__(self, clock: VirtualClock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._closed = False

    def at(self, epoch: float, what: Callable[[], None]) -> Appointment:
        """Does `what` when the clock reads `epoch`; next, if that has passed."""

        def keep() -> None:
            if not self._closed:
                what()

        return self._clock.at(epoch, keep, self._name)

    def after(self, seconds: float, what: Callable[[], None]) -> Appointment:
        """Does `what` in so many virtual seconds."""
        return self.at(self._clock.time() + seconds, what)

    def soon(self, what: Callable[[], None]) -> Appointment:
        """Does `what` next."""
        return self.after(0, what)

    def close(self) -> None:
        self._closed = True
