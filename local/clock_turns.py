"""The turn of a clock: one fiber at a time has it, and lends it to the requests whose answers it waits for.

A fiber waits here for the turn, for an instant or for a condition. The clock (clock.py) decides which of them is next.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from local.clock_fibers import Fiber, Threads, Waiting
from local.clock_present import Present

LOG = logging.getLogger(__name__)


class Turns:
    """Who has the turn, and everything that waits."""

    def __init__(self, present: Present) -> None:
        self._present = present
        self._changed = threading.Condition(present.lock)
        self._mine = threading.local()
        self._threads = Threads()
        self._fibers: WeakValueDictionary[int, Fiber] = WeakValueDictionary()
        self._order = itertools.count()
        self._due: list[tuple[float, int, Waiting]] = []
        self._conditions: list[Waiting] = []
        self._holder: Fiber | None = None
        self._stirs = 0
        #: Set when the clock was stopped or has failed. Then no time passes any more.
        self.stopped = threading.Event()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Holds the turn: time stands still, and no other fiber runs. First it waits for the turn."""
        fiber = self.fiber() or Fiber(threading.current_thread().name, host=True)
        if self._reclaim(fiber):
            yield
            return
        with self._joined(fiber):
            try:
                self._borrow_turn(fiber)
                yield
            finally:
                if fiber.lender is not None and not self._reclaim(fiber):
                    self._take_turn(fiber)  # only who has the turn can give it back
                self._end_turn(fiber)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Within `busy`: time may move, because this code only waits."""
        fiber = self.fiber()
        if fiber is None or not self._reclaim(fiber):
            yield
            return
        with self._changed:
            self._leave(fiber)
        with self._joined(None):
            yield
        # Not after an error or a signal: then nobody waits for the turn.
        self._take_turn(fiber)

    @contextmanager
    def serving(self, sender: Fiber | None) -> Iterator[None]:
        """This thread works for a request, in a fiber of its own. Its sender lends it the turn, and gets it back."""
        with self._joined(Fiber(threading.current_thread().name, sender=sender)):
            yield

    def fiber(self) -> Fiber | None:
        """The fiber of this thread. An `idle` thread has none."""
        fiber: Fiber | None = getattr(self._mine, "fiber", None)
        return fiber

    def numbered(self, number: int) -> Fiber | None:
        """The fiber with this number, while it exists."""
        return self._fibers.get(number)

    def host(self) -> Fiber | None:
        """The fiber of the program in this process that has the turn, otherwise of one that has lent it.

        A program that has the turn may be waiting for the very request that asks.
        """
        with self._changed:
            hosts = [fiber for fiber in self._fibers.values() if fiber.host and (fiber.holds or fiber.guests)]
            return max(hosts, key=lambda fiber: fiber.holds, default=None)

    def recall(self) -> None:
        """Requests that wait in this thread's turn continue without it; the turn is this thread's."""
        fiber = self.fiber()
        if fiber is None:
            return
        with self._changed:
            for each in self._all_waiting():
                if each.fiber in fiber.guests and not each.cancelled:
                    self._give_up(each)
                    each.end()
            fiber.disown()
            if fiber.holds:
                return
        self._take_turn(fiber)

    def stir(self) -> None:
        """Reports an event: conditions are asked again."""
        with self._changed:
            self._stirs += 1
            self._changed.notify_all()

    @contextmanager
    def _joined(self, fiber: Fiber | None) -> Iterator[None]:
        """Makes this thread part of a fiber."""
        before, thread = self.fiber(), threading.current_thread()
        self._mine.fiber = fiber
        if fiber is not None:
            with self._changed:  # `host` may be reading them
                self._fibers[fiber.number] = fiber
            fiber.enter(thread)
        try:
            yield
        finally:
            if fiber is not None:
                fiber.threads.remove(thread)
            self._mine.fiber = before

    def _borrow_turn(self, fiber: Fiber) -> None:
        """Takes the turn of its sender at once. If that has no turn either, it waits for its own."""
        with self._changed:
            fiber.borrow()
            if fiber.lender is not None and fiber.lender.holds:
                fiber.lender.holds = False
                self._hold(fiber)
                return
        self._take_turn(fiber)

    def _reclaim(self, fiber: Fiber) -> bool:
        """Whether it has the turn. Who works on while a request has its turn takes it back: that one goes on alone."""
        with self._changed:
            if not fiber.guests:
                return fiber.holds
            fiber.disown()
        self._take_turn(fiber)
        return True

    def _hold(self, fiber: Fiber) -> None:
        fiber.holds = True
        self._holder = fiber
        self._present.stand()

    def _take_turn(self, fiber: Fiber) -> None:
        waiting = Waiting(self._present.time(), fiber=fiber)
        with self._changed:
            self._await(waiting)
        self._wait_for(waiting)

    def _wait_for(self, waiting: Waiting) -> None:
        """Waits until it is over. After an interrupt the thread waits for nothing more and has no turn."""
        if self.stopped.is_set():
            return
        try:
            waiting.wait()
        except BaseException:
            self._give_up(waiting)
            raise

    def _give_up(self, waiting: Waiting) -> None:
        with self._changed:
            waiting.cancelled = True
            if waiting in self._conditions:
                self._conditions.remove(waiting)
            if waiting.ended() and waiting.fiber is not None:
                self._leave(waiting.fiber)
            self.stir()

    def _all_waiting(self) -> list[Waiting]:
        return [*(entry for _, _, entry in self._due), *self._conditions]

    def _end_turn(self, fiber: Fiber) -> None:
        """A lender has its turn back at once when its last guest ends; no other fiber comes in between."""
        with self._changed:
            lender = fiber.lender if fiber.holds else None
            self._leave(fiber)
            if lender is not None:
                fiber.lender = None
                lender.guests.remove(fiber)
                if not lender.guests:
                    self._hold(lender)

    def _leave(self, fiber: Fiber) -> None:
        fiber.disown()
        fiber.holds = False
        if self._holder is fiber:
            self._holder = None
        self.stir()

    def _await(self, waiting: Waiting) -> None:
        if waiting.epoch is not None:
            heapq.heappush(self._due, (waiting.epoch, next(self._order), waiting))
            self._present.stop_at(waiting.epoch)
        self.stir()

    def _grant(self, waiting: Waiting) -> None:
        fiber = waiting.fiber
        if fiber is not None:
            self._hold(fiber)
        if waiting.work is None:
            waiting.end()
            return
        assert fiber is not None  # noqa: S101 (work has a fiber of its own)
        work = waiting.work

        def run() -> None:
            with self._joined(fiber):
                try:
                    work()
                except Exception:
                    # A failed fiber must not stop the rest. The failure is reported, and the next fiber runs.
                    LOG.exception("a fiber of the embedded cloud failed")
                finally:
                    self._end_turn(fiber)

        self._threads.run(fiber.name, run)
