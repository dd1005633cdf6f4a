"""One reading of AWS and Kubernetes: what could not be read and why, and when the time for reading is over."""

from collections.abc import Callable
from typing import TypeVar

from lamplighter.clock import monotonic
from lamplighter.errors import LamplighterError
from lamplighter.reasons.reason import Said, reason
from lamplighter.reasons.shortened import shortened

T = TypeVar("T")
LONGEST_REASON = 300


class Reading:
    """Tries every call by itself. A call that fails leaves its key out, with the reason."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = monotonic() + seconds
        self.not_read: dict[str, Said] = {}
        """The reason, by the snapshot's key."""

    @property
    def over(self) -> bool:
        """Whether the time for reading is over."""
        return monotonic() >= self._ends

    def read(self, key: str, call: Callable[[], T]) -> T | None:
        """The result of the call; None where it fails or no time is left for it."""
        if self.over:
            self.leave(key, reason("finding.unread.time-over", seconds=round(self.seconds)))
            return None
        try:
            return call()
        except LamplighterError as error:
            self.leave(key, error.said or type(error).__name__)
        except Exception as error:  # noqa: BLE001 -- whatever an answer does to the code that reads it
            self.leave(key, f"{type(error).__name__}: {error}")
        return None

    def leave(self, key: str, why: Said) -> None:
        """Note why a key is absent."""
        self.not_read[key] = shortened(why, LONGEST_REASON)
