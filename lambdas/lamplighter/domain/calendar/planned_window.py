"""One planned opening of a window: its nodes, its owner and its instants."""

from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple

from lamplighter.reasons.reason import Said
from lamplighter.values import zones


class PlannedWindow(NamedTuple):
    """One planned opening of a window; its instants are in seconds since 1970."""

    window: str
    pool: str
    date: date
    """The date that the calendar names, in the window's zone."""
    nodes: int
    opening: int
    closing: int
    notes: tuple[Said, ...]
    owner: str
    order: int
    """The window's place in the file, from 0."""
    ready_by: int | None = None
    """When its GPUs are to be ready, in seconds since 1970, where it opens early for that."""
    event: str = ""
    """The id of its event in a course calendar; one date may have two."""

    @property
    def lease(self) -> str:
        """The id of its lease."""
        lease = f"{self.window}-{_written(self.date)}"
        return f"{lease}-{self.event}" if self.event else lease

    @property
    def begins(self) -> int:
        """When it begins by the lab file, without an early opening, in seconds since 1970."""
        return self.opening if self.ready_by is None else self.ready_by

    @property
    def opens(self) -> datetime:
        """When it opens, in UTC."""
        return zones.instant(self.opening)

    @property
    def closes(self) -> datetime:
        """When it closes, in UTC; the window is [opens, closes)."""
        return zones.instant(self.closing)


@lru_cache(maxsize=1024)
def _written(day: date) -> str:
    """Many windows share few dates, and their lease ids are asked for again and again."""
    return str(day)
