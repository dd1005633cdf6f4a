"""The world's clock, and everything that is due at an instant.

Time only moves from one event to the next, so a quiet day costs nothing.
"""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Deed = Callable[[], object]


class EventQueue:
    """`now` is in UTC. Events at the same instant happen in the order in which they were added."""

    def __init__(self, start: datetime) -> None:
        self.now = start.astimezone(UTC)
        self._due: list[tuple[datetime, int, Deed]] = []
        self._number = itertools.count()

    def at(self, when: datetime, deed: Deed) -> None:
        heapq.heappush(self._due, (max(when, self.now), next(self._number), deed))

    def after(self, seconds: float, deed: Deed) -> None:
        self.at(self.now + timedelta(seconds=seconds), deed)

    def every(self, seconds: float, deed: Deed, first: float) -> None:
        """Repeats an action, the first time after `first` seconds."""

        def again() -> None:
            self.after(seconds, again)
            deed()

        self.after(first, again)

    def run_until(self, when: datetime) -> None:
        while self._due and self._due[0][0] <= when:
            self.now, _, deed = heapq.heappop(self._due)
            deed()
        self.now = max(self.now, when)
