"""Runs many slow stories on few threads, in the lab's time.

A story is a generator that yields what it waits for: a number of seconds, or `Until(condition)`. So a boot or
a pod's life reads from top to bottom in one function. While a step of a story runs, hurry stands still.
"""

import heapq
import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from local.clock import VirtualClock

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Until:
    """Wait until `condition()` holds; it is asked again after every `Stories.look_again`."""

    condition: Callable[[], bool]


Pause = float | Until
Steps = Iterator[Pause]


class Story:
    """One story under way."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.stopped = False

    def stop(self) -> None:
        """Go no further than the step that is running, if any."""
        self.stopped = True


class Stories:
    """All stories of one fleet; `close` ends them where they are."""

    def __init__(self, clock: VirtualClock, workers: int = 4) -> None:
        self._clock = clock
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="fleet")
        self._order = itertools.count()
        self._due: list[tuple[float, int, Story]] = []
        self._held_up: list[tuple[Until, Story]] = []
        self._lock = threading.Lock()
        self._changed = clock.event()
        self._closed = False
        self._timer = threading.Thread(target=self._keep_time, name="fleet-timer", daemon=True)
        self._timer.start()

    def tell(self, steps: Steps) -> Story:
        """Begin a story at once, on a thread of ours."""
        story = Story(steps)
        self._go_on(story)
        return story

    def time(self) -> float:
        """The present instant of the lab, as an epoch."""
        return self._clock.time()

    def look_again(self) -> None:
        """Something changed: stories that wait for a condition look at it again."""
        with self._lock:
            waiting, self._held_up = self._held_up, []
        for until, story in waiting:
            if not story.stopped:
                self._pause(story, until)

    def close(self) -> None:
        self._closed = True
        self._changed.set()
        self._timer.join(5)
        self._workers.shutdown(wait=True, cancel_futures=True)

    def _go_on(self, story: Story) -> None:
        if self._closed or story.stopped:
            return
        held = ExitStack()
        held.enter_context(self._clock.busy())
        try:
            self._workers.submit(self._step, story, held)
        except RuntimeError:  # closed a moment ago
            held.close()

    def _step(self, story: Story, held: ExitStack) -> None:
        with held:
            if self._closed or story.stopped:
                return
            try:
                pause = next(story.steps)
            except StopIteration:
                return
            except Exception:
                # One machine that stumbles must not stop the fleet; when closing, everything stumbles.
                if not self._closed:
                    LOG.exception("a story of the simulated fleet broke off")
                return
            self._pause(story, pause)

    def _pause(self, story: Story, pause: Pause) -> None:
        if isinstance(pause, Until):
            with self._lock:
                self._held_up.append((pause, story))
            # Looked at after it is on the list: a change in between is not missed.
            if pause.condition():
                with self._lock:
                    if (pause, story) not in self._held_up:
                        return
                    self._held_up.remove((pause, story))
                self._go_on(story)
            return
        with self._lock:
            heapq.heappush(self._due, (self._clock.time() + pause, next(self._order), story))
        self._changed.set()

    def _keep_time(self) -> None:
        while not self._closed:
            with self._clock.busy():
                self._changed.clear()
                for story in self._whose_time_has_come():
                    self._go_on(story)
                with self._lock:
                    upcoming = self._due[0][0] if self._due else None
            self._changed.wait_until(upcoming)

    def _whose_time_has_come(self) -> list[Story]:
        with self._lock:
            now, come = self._clock.time(), []
            while self._due and (self._due[0][0] <= now or self._due[0][2].stopped):
                come.append(heapq.heappop(self._due)[2])
        return come
