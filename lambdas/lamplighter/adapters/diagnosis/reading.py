"""One reading of the outside: what was read, what was not and why, and when the time for it is over."""

from collections.abc import Callable
from typing import TypeVar

from lamplighter.clock import monotonic
from lamplighter.errors import OutsideFailed, TryLater

T = TypeVar("T")
LONGEST_REASON = 300


class Reading:
    """Every call is tried for itself; one that fails leaves its key out and says why."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = monotonic() + seconds
        self.not_read: dict[str, str] = {}
        """Why, by the snapshot's key."""

    @property
    def over(self) -> bool:
        """Whether the time for reading is up."""
        return monotonic() >= self._ends

    def read(self, key: str, call: Callable[[], T]) -> T | None:
        """What the call gives; None where it fails, and where no time is left to make it."""
        if self.over:
            self.leave(key, f"the {self.seconds:.0f} seconds for reading were over")
            return None
        try:
            return call()
        except (OutsideFailed, TryLater, ValueError, KeyError) as error:
            self.leave(key, str(error) or type(error).__name__)
            return None

    def leave(self, key: str, why: str) -> None:
        """Say why a key is not there."""
        line = " ".join(why.split())
        self.not_read[key] = line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
