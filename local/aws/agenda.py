"""Things to do at virtual instants, one after the other on one thread.

Whoever owns behaviour that happens by itself (a boot, a rolling, a firing schedule) puts it here instead
of sleeping; the clock's jumps and hurry are followed. An entry that takes long hands itself to a thread.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack

from local.clock import VirtualClock

LOG = logging.getLogger(__name__)


def in_background(clock: VirtualClock, name: str, what: Callable[[], None]) -> None:
    """Do `what` on a thread of its own, which holds the clock from now to its end, but for what it does in
    `clock.idle()`: hurry must not take the moment before a thread runs for quiet.
    """
    held = ExitStack()
    held.enter_context(clock.busy())

    def run() -> None:
        with held:
            what()

    threading.Thread(target=run, name=name, daemon=True).start()


class Appointment:
    """One entry; `cancel` before its instant and it never happens."""

    def __init__(self, epoch: float, what: Callable[[], None]) -> None:
        self.epoch = epoch
        self._what: Callable[[], None] | None = what

    def cancel(self) -> None:
        self._what = None

    def keep(self) -> None:
        what, self._what = self._what, None
        if what is not None:
            what()


class Agenda:
    """A single thread that keeps appointments in the order of their instants."""

    def __init__(self, clock: VirtualClock, name: str) -> None:
        self._clock = clock
        self._order = itertools.count()
        self._entries: list[tuple[float, int, Appointment]] = []
        self._lock = threading.Lock()
        self._changed = clock.event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def at(self, epoch: float, what: Callable[[], None]) -> Appointment:
        """Do `what` when the clock reads `epoch`, at once if it has passed."""
        appointment = Appointment(epoch, what)
        with self._lock:
            heapq.heappush(self._entries, (epoch, next(self._order), appointment))
        self._changed.set()
        return appointment

    def after(self, seconds: float, what: Callable[[], None]) -> Appointment:
        """Do `what` in so many virtual seconds."""
        return self.at(self._clock.time() + seconds, what)

    def soon(self, what: Callable[[], None]) -> Appointment:
        """Do `what` next, on the agenda's thread."""
        return self.after(0, what)

    def close(self) -> None:
        self._closed = True
        self._changed.set()
        if self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        while not self._closed:
            with self._clock.busy():
                self._keep_what_is_due()
                self._changed.clear()
                upcoming = self._next()
            if upcoming is None or upcoming > self._clock.time():
                self._changed.wait_until(upcoming)

    def _keep_what_is_due(self) -> None:
        while not self._closed:
            with self._lock:
                if not self._entries or self._entries[0][0] > self._clock.time():
                    return
                appointment = heapq.heappop(self._entries)[2]
            try:
                appointment.keep()
            except Exception:
                # One behaviour that fails must not stop the world; it is told and the next goes on.
                LOG.exception("an appointment of the embedded cloud failed")

    def _next(self) -> float | None:
        with self._lock:
            while self._entries and self._entries[0][2]._what is None:  # noqa: SLF001 (its own entry)
                heapq.heappop(self._entries)
            return self._entries[0][0] if self._entries else None
