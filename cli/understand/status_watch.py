"""`lamplighter status --watch`: the pools as they change: redrawn in place on a terminal, new lines elsewhere.

Ends when it is interrupted. Everything is read anew each time; the time is AWS's.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cli import printing
from cli.deployment import Deployment
from cli.understand.drawn import pool_lines, pool_panel
from lamplighter.clock import sleep
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.errors import BadInput, OutsideFailed, TryLater

SHORTEST = 1.0
OFTEN = 5
"""So often in a row may a look fail before the watch ends with it."""

Look = Callable[[], list[PoolView]]


def watch(found: Deployment, look: Look, interval: float) -> None:
    """Look every `interval` seconds until somebody interrupts it."""
    if interval < SHORTEST:
        raise BadInput(f"--interval: {interval:g} is too often, 1 second is the shortest")
    console = Console()
    shown = _Drawn(found, console) if console.is_terminal else _Lines(found)
    with shown.frame:
        for now, views in _looks(found, look, interval, shown.trouble):
            shown.show(now, views)


def _looks(
    found: Deployment, look: Look, interval: float, trouble: Callable[[str], None]
) -> Iterator[tuple[datetime, list[PoolView]]]:
    failed = 0
    while True:
        try:
            now = found.clock.now()
            views = look()
        except (OutsideFailed, TryLater) as error:
            failed += 1
            if failed >= OFTEN:
                raise
            trouble(str(error))
        else:
            failed = 0
            yield now, views
        sleep(interval)


class _Drawn:
    """On a terminal."""

    def __init__(self, found: Deployment, console: Console) -> None:
        self._found = found
        self._last: Group = Group()
        self.live = Live(console=console, auto_refresh=False)

    @property
    def frame(self) -> AbstractContextManager[object]:
        return self.live

    def show(self, now: datetime, views: list[PoolView]) -> None:
        zone, lab = self._found.zone, self._found.lab
        head = Text(f"{self._found.name} in {lab.region}, {printing.local(now, zone)}")
        self._last = Group(head, *(pool_panel(view, now, zone) for view in views))
        self.live.update(self._last, refresh=True)

    def trouble(self, text: str) -> None:
        self.live.update(Group(self._last, Text(f"not read just now: {text}", style="yellow")), refresh=True)


class _Lines:
    """Where nothing can be redrawn: a line when it says something new."""

    def __init__(self, found: Deployment) -> None:
        self._found = found
        self._said: set[str] = set()
        self.frame: AbstractContextManager[object] = nullcontext()

    def show(self, now: datetime, views: list[PoolView]) -> None:
        zone = self._found.zone
        lines = [line for view in views for line in pool_lines(view, zone)]
        for line in lines:
            if line not in self._said:
                self._say(f"{now.astimezone(zone):%H:%M:%S}  {line}")
        # What is said again after it was otherwise is news again.
        self._said = set(lines)

    def trouble(self, text: str) -> None:
        self._say(f"not read just now: {text}")

    def _say(self, line: str) -> None:
        printing.say(line)
        sys.stdout.flush()
