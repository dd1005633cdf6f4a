"""The one virtual clock of an embedded cloud, driven by events.

Time stands still while due work runs. Then it moves to the next due instant: at once while it hurries, otherwise at
most `rate` virtual seconds in a real one. Work runs in fibers. One fiber at a time has the turn, in the order of
instants, and for the same instant in the order of requests. So the same day happens in the same order on any machine.
`settled` makes the clock wait for real programs beside us, Kubernetes' controllers.

Nothing in the embedded cloud may sleep in real time for a virtual reason.
"""

import heapq
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from weakref import WeakValueDictionary

from local.clock_fibers import Appointment, Fiber, Threads, Waiting
from local.clock_file import ClockFile

LOG = logging.getLogger(__name__)
#: Real seconds between two writes of the file while time flows.
_TICK = 0.05
#: Real seconds until `settled` is asked again without an event.
_LOOK = 0.005
#: Real seconds until a fiber is missed that has the turn and no thread.
_LOST = 0.5
#: The same while no fiber waits for an instant.
_IDLE = 1.0


class VirtualClock:
    """Time for everything in one embedded cloud; all epochs and durations are virtual seconds.

    `path` is the file that other processes read. `start` is the first instant (default: the machine's now). Without a
    `rate` it hurries from the beginning.
    """

    def __init__(self, path: Path, *, rate: float | None = 1.0, start: datetime | None = None) -> None:
        self.path = path
        self._file = ClockFile(path)
        self._changed = threading.Condition(threading.RLock())
        self._mine = threading.local()
        self._threads = Threads()
        self._fibers: WeakValueDictionary[int, Fiber] = WeakValueDictionary()
        self._order = itertools.count()
        self._due: list[tuple[float, int, Waiting]] = []
        self._conditions: list[Waiting] = []
        self._holder: Fiber | None = None
        self._programs = 0
        self._stirs = 0
        self._rate = _checked(1.0 if rate is None else rate)
        self._hurrying = rate is None
        #: Set when the clock was stopped or has failed. Then no time passes any more.
        self.stopped = threading.Event()
        self._present = start.timestamp() if start else time.time()
        #: While time flows: the real and the virtual instant from which it flows, and the instant up to which it does.
        self._flow: tuple[float, float, float] | None = None
        #: Asked before time moves: whether the real programs beside us have answered all events.
        self.settled: Callable[[], bool] = lambda: True
        #: Asked before time moves for a program with timers of its own: whether it may be waiting.
        self.awaited: Callable[[], bool] = lambda: True
        self._file.write(self._present)
        threading.Thread(target=self._run, name="clock", daemon=True).start()

    @property
    def rate(self) -> float:
        """Virtual seconds in a real second, at most."""
        return self._rate

    def time(self) -> float:
        """The present instant as an epoch."""
        if self._flow is None:
            return self._present
        with self._changed:
            return self._flowed()

    def now(self) -> datetime:
        """The present instant, aware and in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)

    def set_rate(self, rate: float) -> None:
        """From now on a real second is at most `rate` virtual ones."""
        with self._changed:
            checked = _checked(rate)
            self._stand()
            self._rate = checked
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
            if epoch > self._present:
                self._move(epoch)

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
    def busy(self) -> Iterator[None]:
        """Holds the turn: time stands still, and no other fiber runs. First it waits for the turn."""
        fiber = self.fiber() or Fiber(threading.current_thread().name, host=True)
        self._reclaim(fiber)
        if fiber.holds:
            yield
            return
        with self._joined(fiber):
            try:
                self._borrow_turn(fiber)
                yield
            finally:
                self._end_turn(fiber)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Within `busy`: time may move, because this code only waits."""
        fiber = self.fiber()
        if fiber is not None:
            self._reclaim(fiber)
        if fiber is None or not fiber.holds:
            yield
            return
        with self._changed:
            self._leave(fiber)
        with self._joined(None):
            yield
        # Not after an error or a signal: then nobody waits for the turn.
        self._take_turn(fiber)

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
        """The fiber of the program in this process that has the turn, or that has lent it to its requests."""
        with self._changed:
            hosts = [fiber for fiber in self._fibers.values() if fiber.host]
            return next((fiber for fiber in hosts if fiber.holds or fiber.guests), None)

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
        if fiber is not None:
            self._reclaim(fiber)
        if done():
            return True
        if epoch is not None and epoch <= self.time():
            return False
        if fiber is not None and not fiber.holds:
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

    def stir(self) -> None:
        """Reports an event: conditions are asked again."""
        with self._changed:
            self._stirs += 1
            self._changed.notify_all()

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

    # turns

    @contextmanager
    def _joined(self, fiber: Fiber | None) -> Iterator[None]:
        """Makes this thread part of a fiber."""
        before, thread = self.fiber(), threading.current_thread()
        self._mine.fiber = fiber
        if fiber is not None:
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

    def _reclaim(self, fiber: Fiber) -> None:
        """Who works on while a request has its turn, takes it back: that request goes on in its own name."""
        with self._changed:
            if not fiber.guests:
                return
            fiber.disown()
        self._take_turn(fiber)

    def _hold(self, fiber: Fiber) -> None:
        fiber.holds = True
        self._holder = fiber
        self._stand()

    def _take_turn(self, fiber: Fiber) -> None:
        waiting = Waiting(self.time(), fiber=fiber)
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
        if not fiber.holds:
            self._take_turn(fiber)

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
            if self._flow is not None and waiting.epoch < self._flow[2]:
                self._stand()  # otherwise time would flow past it
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

    # time

    def _stand(self) -> None:
        """Time stops flowing."""
        if self._flow is not None:
            self._move(self._flowed())
            self._flow = None

    def _flowed(self) -> float:
        if self._flow is None:
            return self._present
        real, base, until = self._flow
        return min(base + (time.monotonic() - real) * self._rate, until)

    def _move(self, epoch: float) -> None:
        self._present = epoch
        self._file.write(epoch)

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
                        self._stand()
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
            self._stand()
            if head is None:
                self._changed.wait(_IDLE)
            else:
                self._move(head)
        else:
            self._go_on(head)

    def _go_on(self, head: float | None) -> None:
        """Flows towards the next instant, until an event."""
        until = head if head is not None else float("inf")
        if self._flow is None or self._flow[2] != until:
            self._stand()
            self._flow = (time.monotonic(), self._present, until)
        left = (until - self.time()) / self._rate
        self._changed.wait(min(left, _TICK))
        self._file.write(self.time())

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


def _checked(rate: float) -> float:
    if not 0 < rate < math.inf:
        raise ValueError(f"a clock needs a finite rate above 0, not {rate}")
    return rate


def _checked_instant(epoch: float) -> float:
    if not math.isfinite(epoch):
        raise ValueError(f"{epoch} is no instant")
    return epoch
