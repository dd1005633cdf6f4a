"""`lamplighter status --watch`: shows the pools as they change: redrawn on a terminal, new lines elsewhere.

It ends with Ctrl-C. Each round reads everything again, and takes the time from AWS.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from rich.console import Group
from rich.live import Live
from rich.text import Text

from cli import printing
from cli.deployment import Deployment
from cli.understand.drawn import pool_lines, pool_panel
from lamplighter.clock import sleep
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.errors import BadInput, OutsideFailed, TryLater

SHORTEST = 1.0
MOST_FAILURES = 5
"""The watch ends with the error of this many failed reads in a row."""

ReadPools = Callable[[], list[PoolView]]


def watch(deployed: Deployment, read_pools: ReadPools, interval: float) -> None:
    """Read and show the pools every `interval` seconds, until Ctrl-C."""
    if interval < SHORTEST:
        raise BadInput(f"--interval: {interval:g} is too often, 1 second is the shortest")
    console = printing.Console()
    shown = _OnTerminal(deployed, console) if console.is_terminal else _InLines(deployed)
    with shown.frame:
        for now, views in _rounds(deployed, read_pools, interval, shown.show_error):
            shown.show(now, views)


def _rounds(
    deployed: Deployment, read_pools: ReadPools, interval: float, show_error: Callable[[str], None]
) -> Iterator[tuple[datetime, list[PoolView]]]:
    failed = 0
    while True:
        try:
            now = deployed.clock.now()
            views = read_pools()
        except (OutsideFailed, TryLater) as error:
            failed += 1
            if failed >= MOST_FAILURES:
                raise
            show_error(printing.drawn_error(error))
        else:
            failed = 0
            yield now, views
        sleep(interval)


class _OnTerminal:
    """On a terminal."""

    def __init__(self, deployed: Deployment, console: printing.Console) -> None:
        self._deployed = deployed
        self._last: Group = Group()
        self.live = Live(console=console, auto_refresh=False)

    @property
    def frame(self) -> AbstractContextManager[object]:
        return self.live

    def show(self, now: datetime, views: list[PoolView]) -> None:
        zone, lab = self._deployed.zone, self._deployed.lab
        head = Text(f"{self._deployed.name} in {lab.region}, {printing.local(now, zone)}")
        self._last = Group(head, *(pool_panel(view, now, zone) for view in views))
        self.live.update(self._last, refresh=True)

    def show_error(self, text: str) -> None:
        line = Text(printing.in_line(f"this read failed: {text}"), style="yellow")
        self.live.update(Group(self._last, line), refresh=True)


class _InLines:
    """Where nothing can be redrawn: a line for each change."""

    def __init__(self, deployed: Deployment) -> None:
        self._deployed = deployed
        self._last_lines: set[str] = set()
        self.frame: AbstractContextManager[object] = nullcontext()

    def show(self, now: datetime, views: list[PoolView]) -> None:
        zone = self._deployed.zone
        lines = [line for view in views for line in pool_lines(view, zone)]
        for line in lines:
            if line not in self._last_lines:
                self._say(f"{now.astimezone(zone):%H:%M:%S}  {line}")
        # A line that comes back after another state is new again.
        self._last_lines = set(lines)

    def show_error(self, text: str) -> None:
        self._say(f"this read failed: {text}")

    def _say(self, line: str) -> None:
        printing.say(line)
        sys.stdout.flush()
