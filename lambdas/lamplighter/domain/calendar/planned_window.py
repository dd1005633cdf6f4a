"""One opening of a window, as it is planned: what it asks for, and when."""

from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple

from lamplighter.values import zones


class PlannedWindow(NamedTuple):
    """One opening of a window: what it asks for, and when, in seconds since 1970."""

    window: str
    pool: str
    date: date
    """The date that the calendar names, in the window's zone."""
    nodes: int
    opening: int
    closing: int
    notes: tuple[str, ...]
    owner: str
    order: int
    """The window's place in the file, from 0."""
    ready_by: int | None = None
    """When its GPUs are to be ready, in seconds since 1970, where it opens early for that."""
    event: str = ""
    """Which event of its course calendar it is; two may be on one date."""

    @property
    def lease(self) -> str:
        """The id of the lease that it becomes."""
        lease = f"{self.window}-{_written(self.date)}"
        return f"{lease}-{self.event}" if self.event else lease

    @property
    def begins(self) -> int:
        """When it begins by the lab, an early opening left aside, in seconds since 1970."""
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
    """Many windows share few dates, and are asked for their leases again and again."""
    return str(day)
