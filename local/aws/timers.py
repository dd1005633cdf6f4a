"""Things to do at virtual instants, each with the turn to itself.

Whoever owns behaviour that happens by itself (a boot, a rolling, a firing schedule) puts it here instead
of sleeping, and takes back with the whole timers what has not happened when the embedded AWS goes down.
"""

from collections.abc import Callable

from local.clock import VirtualClock
from local.clock_fibers import Appointment


class Timers:
    """Keeps appointments in the order of their instants, and of asking where these are the same."""

    def __init__(self, clock: VirtualClock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._closed = False

    def at(self, epoch: float, what: Callable[[], None]) -> Appointment:
        """Do `what` when the clock reads `epoch`, next if it has passed."""

        def keep() -> None:
            if not self._closed:
                what()

        return self._clock.at(epoch, keep, self._name)

    def after(self, seconds: float, what: Callable[[], None]) -> Appointment:
        """Do `what` in so many virtual seconds."""
        return self.at(self._clock.time() + seconds, what)

    def soon(self, what: Callable[[], None]) -> Appointment:
        """Do `what` next."""
        return self.after(0, what)

    def close(self) -> None:
        self._closed = True
