"""When a wait of a test counts as hung, in real seconds. No verdict depends on it: it only ends what never comes.

A test waits for a condition, a program or a thread. It asserts no time of the machine, because a busy machine is slow;
`make bench` measures times. tests/unit/suite/test_steady.py holds that.
"""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
#: A little less than pytest's own limit, so that the failure says what did not come.
HANG_SECONDS = 600.0
#: Between two looks.
_LOOK_EVERY = 0.02


class Hang:
    """A wait that has begun."""

    def __init__(self, until: str) -> None:
        self._until, self._end = until, time.monotonic() + HANG_SECONDS

    def check(self, seen: object) -> None:
        """Raises AssertionError once the wait counts as hung; `seen` is what came instead."""
        assert time.monotonic() < self._end, f"hung while waiting until {self._until}: {seen!r}"


def await_value(until: str, read: Callable[[], Value | None]) -> Value:
    """The first true value that `read` returns."""
    hang = Hang(until)
    while not (value := read()):
        hang.check(value)
        time.sleep(_LOOK_EVERY)
    return value
