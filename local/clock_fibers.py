"""Fibers: the lines of work in an embedded cloud. One at a time has the turn.

This file has the fibers, the list of waiting work, and the threads of fibers. The clock decides their order, and when
time moves.
"""

import itertools
import queue
import threading
from collections.abc import Callable

_NUMBERS = itertools.count(1)


class Fiber:
    """One line of work. `person` marks one from outside, whose requests do not name it."""

    def __init__(self, name: str, *, person: bool = False) -> None:
        self.name = name
        self.person = person
        #: The number by which a request says that it belongs to this fiber.
        self.number = next(_NUMBERS)
        #: Whether it has the turn; only the clock sets it.
        self.holds = False

    def __repr__(self) -> str:
        return f"<fiber {self.name}>"


class Waiting:
    """A thread that waits for an instant, a condition or the turn; or work that has no thread yet."""

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
        #: Whether the condition came true, once the wait is over.
        self.came = False
        self.error: BaseException | None = None
        self._over = threading.Event()

    def end(self) -> None:
        """Ends the wait."""
        self._over.set()

    def wait(self) -> None:
        self._over.wait()

    def ended(self) -> bool:
        return self._over.is_set()


class Appointment:
    """Work that is due at an instant. After `cancel` it never happens."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting

    @property
    def epoch(self) -> float:
        return self._waiting.epoch or 0.0

    def cancel(self) -> None:
        self._waiting.cancelled = True


class Threads:
    """Daemon threads that are used again, because a new thread for each fiber would be too many."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Callable[[], None] | None]] = []
        self._lock = threading.Lock()
        self._closed = False

    def run(self, name: str, work: Callable[[], None]) -> None:
        """Runs the work on a thread of this pool. An error of the work ends that thread."""
        with self._lock:
            tasks = self._idle.pop() if self._idle else None
        if tasks is None:
            tasks = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(tasks,), name=f"fiber {name}", daemon=True).start()
        tasks.put(work)

    def close(self) -> None:
        """Ends idle threads now, and the others when they have no more work."""
        with self._lock:
            self._closed = True
            for tasks in self._idle:
                tasks.put(None)
            self._idle.clear()

    def _serve(self, tasks: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
        while (work := tasks.get()) is not None:
            try:
                work()
            except SystemExit:  # the clock was stopped during the work
                return
            with self._lock:
                if self._closed:
                    return
                self._idle.append(tasks)
