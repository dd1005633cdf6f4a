"""Runs many slow coroutines in the lab's time.

A coroutine is a generator that yields what it waits for: a number of seconds, or `Until(condition)`. So a boot or a
pod's life reads from top to bottom in one function. Each step runs alone.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from local.clock import VirtualClock

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Until:
    """Waits until `condition()` holds; it is asked again after every `Coroutines.look_again`."""

    condition: Callable[[], bool]


Pause = float | Until
Steps = Iterator[Pause]


class Coroutine:
    """One running coroutine."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.stopped = False

    def stop(self) -> None:
        """Stops it after the step that is running, if any."""
        self.stopped = True


class Coroutines:
    """All coroutines of one fleet; `close` stops them at their present step."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._held_up: list[tuple[Until, Coroutine]] = []
        self._looking = False
        self._lock = threading.Lock()
        self._closed = False

    def tell(self, steps: Steps) -> Coroutine:
        """Starts a coroutine, next."""
        coroutine = Coroutine(steps)
        self._go_on(coroutine, 0.0)
        return coroutine

    def time(self) -> float:
        """The present instant of the lab, as an epoch."""
        return self._clock.time()

    def look_again(self) -> None:
        """Something changed: waiting coroutines check their condition again, before time moves."""
        with self._lock:
            if self._looking or not self._held_up:
                return
            self._looking = True
        self._clock.spawn("fleet", self._look)

    def close(self) -> None:
        self._closed = True

    def _look(self) -> None:
        with self._lock:
            self._looking = False
            waiting, self._held_up = self._held_up, []
        for until, coroutine in waiting:
            self._pause(coroutine, until)

    def _go_on(self, coroutine: Coroutine, seconds: float) -> None:
        self._clock.at(self._clock.time() + seconds, lambda: self._step(coroutine), "fleet")

    def _step(self, coroutine: Coroutine) -> None:
        if self._closed or coroutine.stopped:
            return
        try:
            pause = next(coroutine.steps)
        except StopIteration:
            return
        except Exception:
            # An error of one machine must not stop the fleet. While the fleet closes, errors are normal.
            if not self._closed:
                LOG.exception("a coroutine of the simulated fleet broke off")
            return
        self._pause(coroutine, pause)

    def _pause(self, coroutine: Coroutine, pause: Pause) -> None:
        if coroutine.stopped:
            return
        if not isinstance(pause, Until):
            self._go_on(coroutine, pause)
            return
        with self._lock:
            self._held_up.append((pause, coroutine))
        # The condition is checked after the coroutine is on the list, so that no change in between is missed.
        if pause.condition():
            with self._lock:
                if (pause, coroutine) not in self._held_up:
                    return
                self._held_up.remove((pause, coroutine))
            self._go_on(coroutine, 0.0)
