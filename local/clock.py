"""The one virtual clock of an embedded cloud, driven by events.

Time stands still while due work runs. Then it moves to the next due instant: at once while it hurries, otherwise at
most `rate` virtual seconds in a real one. Work runs in fibers. One fiber at a time has the turn, in the order of
instants, and for the same instant in the order of requests. So the same day happens in the same order on any machine.
`settled` makes the clock wait for real programs beside us, Kubernetes' controllers.

This file decides what is next. clock_turns.py has the turn, and clock_present.py the instant.

Nothing in the embedded cloud may sleep in real time for a virtual reason.
"""

import heapq
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from local.clock_fibers import Appointment, Fiber, Waiting
from local.clock_present import Present
from local.clock_turns import Turns

LOG = logging.getLogger(__name__)
#: Real seconds between two writes of the file while time flows.
_TICK = 0.05
#: Real seconds until `settled` is asked again without an event.
_LOOK = 0.005
#: The same while no fiber waits for an instant.
_IDLE = 1.0
#: Real seconds until a fiber is missed that has the turn and no thread.
_LOST = 0.5


class VirtualClock(Turns):
    """Time for everything in one embedded cloud; all epochs and durations are virtual seconds.

    `path` is the file that other processes read. `start` is the first instant (default: the machine's now). Without a
    `rate` it hurries from the beginning.
    """

    def __init__(self, path: Path, *, rate: float | None = 1.0, start: datetime | None = None) -> None:
        begin = start.timestamp() if start else time.time()
        super().__init__(Present(path, begin, 1.0 if rate is None else rate))
        self.path = path
        self._programs = 0
        self._hurrying = rate is None
        #: Asked before time moves: whether the real programs beside us have answered all events.
        self.settled: Callable[[], bool] = lambda: True
        #: Asked before time moves for a program with timers of its own: whether it may be waiting.
        self.awaited: Callable[[], bool] = lambda: True
        threading.Thread(target=self._run, name="clock", daemon=True).start()

    @property
    def rate(self) -> float:
        """Virtual seconds in a real second, at most."""
        return self._present.rate

    def time(self) -> float:
        """The present instant as an epoch."""
        return self._present.time()

    def now(self) -> datetime:
        """The present instant, aware and in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)

    def set_rate(self, rate: float) -> None:
        """From now on a real second is at most `rate` virtual ones."""
        with self._changed:
            self._present.set_rate(rate)
            self.stir()

    def hurry(self, on: bool) -> None:
        """While on, the clock jumps to the next awaited instant whenever no work is due."""
        with self._changed:
            self._hurrying = on
            self.stir()

    def jump_to(self, epoch: float) -> None:
        """Moves forward to `epoch`, once no other fiber has the turn. Time never goes back."""
        _checked_instant(epoch)
        with self.busy(), self._changed:
            if epoch > self._present.time():
                self._present.move(epoch)

    def sleep(self, seconds: float) -> None:
        """Returns when `seconds` of virtual time have passed."""
        self.sleep_until(self.time() + seconds)

    def sleep_until(self, epoch: float) -> None:
        """Returns when the clock has reached `epoch`."""
        self.wait_until(epoch, lambda: False)

    def event(self) -> "ClockEvent":
        """A threading.Event whose time-outs are virtual."""
        return ClockEvent(self)

    @contextmanager
    def program(self) -> Iterator[None]:
        """Within `busy`: a program with timers of its own runs. Time moves only to instants that it may wait for."""
        with self._changed:
            self._programs += 1
        try:
            with self.idle():
                yield
        finally:
            with self._changed:
                self._programs -= 1

    def at(self, epoch: float, work: Callable[[], None], name: str = "") -> Appointment:
        """Does `work` in a fiber of its own when the clock reads `epoch`; next, if that has passed."""
        waiting = Waiting(_checked_instant(epoch), fiber=Fiber(name), work=work)
        with self._changed:
            self._await(waiting)
        return Appointment(waiting)

    def spawn(self, name: str, work: Callable[[], None]) -> None:
        """Does `work` in a fiber of its own, next."""
        self.at(self.time(), work, name)

    def wait_until(self, epoch: float | None, done: Callable[[], bool]) -> bool:
        """True once `done()` holds, which is asked after each event; False when `epoch` comes first.

        Raises SystemExit, which ends a thread quietly, when the clock is stopped in the meantime.
        """
        if self.stopped.is_set():
            raise SystemExit("the clock was stopped")
        fiber = self.fiber()
        ready = fiber is None or self._reclaim(fiber)
        if done():
            return True
        if epoch is not None and epoch <= self.time():
            return False
        if not ready:
            with self.busy():  # a request has the turn only while it needs it
                return self.wait_until(epoch, done)
        waiting = Waiting(None if epoch is None else _checked_instant(epoch), done=done, fiber=fiber)
        with self._changed:
            if not self.stopped.is_set():
                self._await(waiting)
                self._conditions.append(waiting)
                if fiber is not None:
                    self._leave(fiber)
        self._wait_for(waiting)
        if self.stopped.is_set():
            raise SystemExit("the clock was stopped")
        if waiting.error is not None:
            raise waiting.error
        return waiting.came

    def settle(self) -> None:
        """Returns when the real programs beside us have answered all events."""
        while not self.stopped.is_set() and not self.settled():
            with self._changed:
                self._changed.wait(_LOOK)

    def stop(self) -> None:
        """Stops the clock, because the embedded cloud goes down: threads that wait, now or later, end there."""
        with self._changed:
            self.stopped.set()
            self._hurrying = False
            waiting = self._all_waiting()
            self._due.clear()
            self._conditions.clear()
            self._changed.notify_all()
        for each in waiting:
            each.end()
        self._threads.close()

    def _run(self) -> None:
        try:
            self._dispatch()
        except BaseException:
            LOG.exception("the clock of the embedded cloud failed, and everything with it")
            self.stop()

    def _dispatch(self) -> None:
        while not self.stopped.is_set():
            with self._changed:
                if self._holder is not None:
                    if self._holder.gone():
                        raise RuntimeError(f"{self._holder} has the turn for ever: no thread works in it")
                    self._changed.wait(_LOST)
                    continue
                seen, conditions = self._stirs, list(self._conditions)
            # Without the lock: conditions take other locks, and holders of those locks ask for this one.
            came = next((each for each in conditions if _holds(each)), None)
            if came is None and not self._is_due() and not self._may_move():
                with self._changed:
                    if self._stirs == seen:
                        self._present.stand()
                        self._changed.wait(_TICK)
                continue
            with self._changed:
                if self._stirs == seen and self._holder is None and not self.stopped.is_set():
                    self._next(came)

    def _may_move(self) -> bool:
        return self.settled() and (not self._programs or self.awaited())

    def _is_due(self) -> bool:
        with self._changed:
            head = self._head()
            return head is not None and head <= self.time()

    def _next(self, came: Waiting | None) -> None:
        """Gives the turn to due work, otherwise lets time go on."""
        if came is not None:
            self._conditions.remove(came)
            came.came = came.error is None
            came.cancelled = True  # its instant no longer matters
            self._grant(came)
            return
        head = self._head()
        if head is not None and head <= self.time():
            _, _, waiting = heapq.heappop(self._due)
            if waiting in self._conditions:
                self._conditions.remove(waiting)
            self._grant(waiting)
        elif self._hurrying:
            self._present.stand()
            if head is None:
                self._changed.wait(_IDLE)
            else:
                self._present.move(head)
        else:
            self._go_on(head)

    def _go_on(self, head: float | None) -> None:
        """Flows towards the next instant, until an event."""
        left = self._present.flow(head if head is not None else math.inf)
        self._changed.wait(min(left, _TICK))
        self._present.write()

    def _head(self) -> float | None:
        """The next instant that somebody waits for."""
        while self._due and self._due[0][2].cancelled:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else None


class ClockEvent:
    """Like threading.Event, in virtual time. The clock knows who waits with a time-out."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._clock.stir()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """True once set; False after `timeout` virtual seconds."""
        return self.wait_until(None if timeout is None else self._clock.time() + timeout)

    def wait_until(self, epoch: float | None) -> bool:
        """True once set; False when the clock reaches `epoch` first."""
        return self._clock.wait_until(epoch, self.is_set)


def _holds(waiting: Waiting) -> bool:
    """Whether its condition is true. If the condition raises, its own thread gets the error."""
    assert waiting.done is not None  # noqa: S101 (only conditions are asked)
    try:
        return waiting.done()
    except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
        waiting.error = error
        return True


def _checked_instant(epoch: float) -> float:
    if not math.isfinite(epoch):
        raise ValueError(f"{epoch} is no instant")
    return epoch
