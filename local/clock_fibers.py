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
    """One line of work. A request has one of its own; it may have the turn of its `sender`, who waits for the answer.

    `host` marks a program in the process of the cloud, whose own programs send requests that name no sender.
    """

    def __init__(self, name: str, *, host: bool = False, sender: "Fiber | None" = None) -> None:
        self.name = name
        self.host = host
        self.sender = sender
        #: The number by which a request names its sender.
        self.number = next(_NUMBERS)
        #: Whether it has the turn; only the clock sets it.
        self.holds = False
        #: The fiber whose turn it has or waits for, and the fibers that have its own turn or wait for it.
        self.lender: Fiber | None = None
        self.guests: set[Fiber] = set()
        #: The threads that work in it, and whether any has ever done so.
        self.threads: list[threading.Thread] = []
        self._begun = False

    def __repr__(self) -> str:
        return f"<fiber {self.name}>"

    def gone(self) -> bool:
        """Whether each thread that worked in it has left it or ended."""
        return self._begun and not any(thread.is_alive() for thread in self.threads)

    def enter(self, thread: threading.Thread) -> None:
        """The thread works in it from now on."""
        self.threads.append(thread)
        self._begun = True

    def borrow(self) -> None:
        """Becomes a guest of the nearest sender that has the turn or has lent it."""
        sender = None if self.lender else self.sender
        while sender is not None and not (sender.holds or sender.guests):
            sender = sender.sender
        if sender is not None:
            self.lender = sender
            sender.guests.add(self)

    def disown(self) -> None:
        """Its guests go on in their own name."""
        for guest in self.guests:
            guest.lender = None
        self.guests.clear()


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
