"""Fibers: the lines of work in an embedded cloud, of which one at a time has the turn.

Owns what a fiber is, who waits for what, and the threads that fibers run on. In which order they come, and
when time moves, is the clock's.
"""

import itertools
import queue
import threading
from collections.abc import Callable

_NUMBERS = itertools.count(1)


class Fiber:
    """One line of work. `person` marks one from outside, whose requests carry no sign of it."""

    def __init__(self, name: str, *, person: bool = False) -> None:
        self.name = name
        self.person = person
        #: By which requests say that they are part of it.
        self.number = next(_NUMBERS)
        #: Whether it has the turn; set by the clock alone.
        self.holds = False

    def __repr__(self) -> str:
        return f"<fiber {self.name}>"


class Waiting:
    """Somebody who waits for an instant, a condition or the turn; a thread, or work that has no thread yet."""

    def __init__(
        self,
        epoch: float | None,
        *,
        done: Callable[[], bool] | None = None,
        fiber: Fiber | None = None,
        work: Callable[[], None] | None = None,
    ) -> None:
        self.epoch = epoch
        self.done = done
        self.fiber = fiber
        self.work = work
        self.cancelled = False
        #: Whether the condition came true, once it is over.
        self.came = False
        self.error: BaseException | None = None
        self._over = threading.Event()

    def end(self) -> None:
        """It goes on."""
        self._over.set()

    def wait(self) -> None:
        self._over.wait()

    def ended(self) -> bool:
        return self._over.is_set()


class Appointment:
    """Work that is due at an instant; `cancel` before and it never happens."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    @property
    def epoch(self) -> float:
        return self._waiting.epoch or 0.0

    def cancel(self) -> None:
        self._waiting.cancelled = True


class Threads:
    """Daemon threads that are used again: a fiber a moment would be a thread a moment."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Callable[[], None] | None]] = []
        self._lock = threading.Lock()
        self._closed = False

    def run(self, name: str, work: Callable[[], None]) -> None:
        """Do it on a thread of ours; what it raises ends that thread."""
        with self._lock:
            tasks = self._idle.pop() if self._idle else None
        if tasks is None:
            tasks = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(tasks,), name=f"fiber {name}", daemon=True).start()
        tasks.put(work)

    def close(self) -> None:
        """Idle threads end, and the others when they have nothing more to do."""
        with self._lock:
            self._closed = True
            for tasks in self._idle:
                tasks.put(None)
            self._idle.clear()

    def _serve(self, tasks: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
        while (work := tasks.get()) is not None:
            try:
                work()
            except SystemExit:  # the clock was stopped under it
                return
            with self._lock:
                if self._closed:
                    return
                self._idle.append(tasks)
