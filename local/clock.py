"""The one virtual clock of an embedded cloud: what the time is, who waits for which instant, and hurrying.

It maps the machine's clock to another one, base + (machine - real) * rate, and publishes the mapping in a
file so that Lambda workers read the same time (see lamplighter.clock). What happens at an instant is up to
whoever waits for it here; nothing else in the embedded cloud may sleep in real time for a virtual reason.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from local.clock_history import ClockHistory

#: Real seconds of quiet before hurry moves on: enough for whoever just woke to say that it is busy.
SETTLE_SECONDS = 0.06


class VirtualClock:
    """Time for everything in one embedded cloud; all epochs and durations are virtual seconds.

    `path` is the file that workers read; `start` is the first instant (default: the machine's now).
    """

    def __init__(self, path: Path, *, rate: float = 1.0, start: datetime | None = None) -> None:
        self.path = path
        self._changed = threading.Condition(threading.RLock())
        self._real = time.time()
        self._base = start.timestamp() if start else self._real
        self._rate = _checked(rate)
        #: What the machine's instants since the start were here.
        self.history = ClockHistory()
        self.history.begin(self._real, self._base, self._rate)
        self._wakes: dict[object, float] = {}
        self._busy = 0
        self._hurrying = False
        self._stirred = time.monotonic()
        self._stopped = False
        self._publish()

    @property
    def rate(self) -> float:
        """Virtual seconds a real second."""
        return self._rate

    def time(self) -> float:
        """The present instant as an epoch."""
        with self._changed:
            return self._base + (time.time() - self._real) * self._rate

    def now(self) -> datetime:
        """The present instant, aware and in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)

    def set_rate(self, rate: float) -> None:
        """From now on a real second is `rate` virtual ones."""
        self._move(None, _checked(rate))

    def jump_to(self, epoch: float) -> None:
        """Move forward to `epoch`; an instant that has passed changes nothing, time never goes back."""
        with self._changed:
            if epoch > self.time():
                self._move(epoch, self._rate)

    def sleep(self, seconds: float) -> None:
        """Return when `seconds` of virtual time have passed."""
        self.sleep_until(self.time() + seconds)

    def sleep_until(self, epoch: float) -> None:
        """Return when the clock has reached `epoch`."""
        self.wait_until(epoch, lambda: False)

    def event(self) -> "ClockEvent":
        """A threading.Event whose time-outs are virtual and follow jumps and changes of rate."""
        return ClockEvent(self)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Hurry stands still meanwhile: something takes its real time, a running function for instance."""
        self._count_busy(1)
        try:
            yield
        finally:
            self._count_busy(-1)

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Within busy: not meanwhile, since what happens here is waiting."""
        self._count_busy(-1)
        try:
            yield
        finally:
            self._count_busy(1)

    def hurry(self, on: bool) -> None:
        """While on, jump to the next instant that someone waits for whenever nothing is busy."""
        with self._changed:
            starting = on and not self._hurrying
            self._hurrying = on
            self.stir()
        if starting:
            threading.Thread(target=self._hurry_along, name="clock-hurry", daemon=True).start()

    def stop(self) -> None:
        """The embedded cloud comes down: threads that wait, now or later, end there."""
        with self._changed:
            self._stopped, self._hurrying = True, False
            self._changed.notify_all()

    def next_wake(self) -> float | None:
        """The earliest instant that someone waits for."""
        with self._changed:
            return min(self._wakes.values(), default=None)

    def wait_until(self, epoch: float | None, done: Callable[[], bool]) -> bool:
        """True once `done()`, asked again whenever something stirs; False when `epoch` comes first.

        Raises SystemExit, which ends a thread quietly, when the clock is stopped meanwhile.
        """
        waiting = object()
        with self._changed:
            if epoch is not None:
                self._wakes[waiting] = epoch
                self.stir()
            try:
                while not done():
                    if self._stopped:
                        raise SystemExit("the clock was stopped")
                    left = None if epoch is None else epoch - self.time()
                    if left is not None and left <= 0:
                        return False
                    self._changed.wait(
                        None if left is None else min(left / self._rate, threading.TIMEOUT_MAX)
                    )
            finally:
                if self._wakes.pop(waiting, None) is not None:
                    self.stir()
        return True

    def stir(self) -> None:
        """Something happened: whoever waits looks again, and hurry gives it time to take effect."""
        with self._changed:
            self._stirred = time.monotonic()
            self._changed.notify_all()

    def _move(self, base: float | None, rate: float) -> None:
        """From now on `rate`, and `base` is now if it has not passed."""
        with self._changed:
            real = time.time()
            present = self._base + (real - self._real) * self._rate
            self._real, self._base, self._rate = real, max(base or present, present), rate
            self.history.begin(self._real, self._base, self._rate)
            self._publish()
            self._changed.notify_all()

    def _publish(self) -> None:
        draft = self.path.with_name(self.path.name + ".new")
        draft.write_text(f"{self._base!r} {self._real!r} {self._rate!r}\n", "ascii")
        draft.replace(self.path)

    def _count_busy(self, step: int) -> None:
        with self._changed:
            self._busy += step
            self.stir()

    def _hurry_along(self) -> None:
        with self._changed:
            while self._hurrying:
                quiet = time.monotonic() - self._stirred
                wake = self.next_wake()
                if self._busy or wake is None:
                    self._changed.wait()
                elif quiet < SETTLE_SECONDS:
                    self._changed.wait(SETTLE_SECONDS - quiet)
                else:
                    self._stirred = time.monotonic()
                    self.jump_to(wake)


class ClockEvent:
    """Like threading.Event, in virtual time; whoever waits with a time-out is known to hurry."""

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
        """True once set; False after `timeout` virtual seconds without."""
        return self.wait_until(None if timeout is None else self._clock.time() + timeout)

    def wait_until(self, epoch: float | None) -> bool:
        """True once set; False when the clock reaches `epoch` without."""
        return self._clock.wait_until(epoch, self.is_set)


def _checked(rate: float) -> float:
    if not rate > 0:
        raise ValueError(f"a clock needs a rate above 0, not {rate}")
    return rate
