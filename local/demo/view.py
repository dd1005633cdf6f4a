"""What a person sees of the day: a calm live picture on a terminal, plain lines elsewhere."""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

LINES_KEPT = 18


@dataclass(frozen=True, slots=True)
class Now:
    """The picture's upper half: instants in the lab's zone, counts of nodes, the running steps."""

    at: datetime
    instances: int
    justified: int
    until: datetime | None
    owners: str
    steps: str
    failsafe: datetime | None


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the day."""

    at: datetime
    kind: str
    actor: str
    what: str


class View(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def progress(self, text: str) -> None:
        """Something about the set-up."""

    def now(self, now: Now) -> None:
        """The state changed."""

    def line(self, line: Line) -> None:
        """Something happened."""


class PlainView:
    """A line an event, in the order in which they happened; for logs and pipes."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def progress(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def now(self, now: Now) -> None:
        pass

    def line(self, line: Line) -> None:
        sys.stdout.write(
            f"{line.at.astimezone(self._zone):%a %H:%M:%S %Z}  {line.kind:<16} {line.actor:<16} {line.what}\n"
        )
        sys.stdout.flush()


class LiveView:
    """Clock, pool, lease, failsafe and workflow step above, the last events below, redrawn in place."""

    def __init__(self, zone: ZoneInfo, console: Console) -> None:
        self._zone = zone
        self._now: Now | None = None
        self._progress = ""
        self._lines: list[Line] = []
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self._drawn)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def progress(self, text: str) -> None:
        self._progress = text

    def now(self, now: Now) -> None:
        self._now = now

    def line(self, line: Line) -> None:
        self._lines.append(line)

    def _drawn(self) -> Group:
        return Group(self._state(), self._log())

    def _state(self) -> Panel:
        if self._now is None:
            return Panel(
                Text(self._progress or "starting …", style="dim"), title="Lamplighter", box=box.ROUNDED
            )
        now = self._now
        grid = Table.grid(padding=(0, 2))
        bar = "●" * now.instances + "○" * max(0, now.justified - now.instances)
        colour = "green" if now.instances <= now.justified else "red"
        rows: list[tuple[str, str | Text]] = [
            ("clock", f"{now.at.astimezone(self._zone):%a %d %b %Y %H:%M:%S %Z}"),
            ("pool", Text(f"{bar or '-'}  {now.instances} of {now.justified} GPU nodes", style=colour)),
            ("lease", f"{now.owners} until {self._short(now.until)}" if now.until else "none: no GPU node"),
            ("failsafe", self._short(now.failsafe)),
            ("step", now.steps or "-"),
        ]
        for name, value in rows:
            grid.add_row(Text(name, style="dim"), value)
        return Panel(grid, title="Lamplighter: a lab day", title_align="left", box=box.ROUNDED)

    def _log(self) -> Table:
        log = Table.grid(padding=(0, 2))
        for line in self._lines[-LINES_KEPT:]:
            style = {"breach": "red", "leaked": "red", "verdict": "green", "zero-proven": "green"}.get(
                line.kind, ""
            )
            log.add_row(
                Text(f"{line.at.astimezone(self._zone):%H:%M:%S}", style="dim"),
                Text(line.kind, style=style or "cyan"),
                Text(line.actor, style="dim"),
                line.what,
            )
        return log

    def _short(self, at: datetime | None) -> str:
        return f"{at.astimezone(self._zone):%H:%M %Z}" if at else "-"


def view_for(zone: ZoneInfo) -> View:
    """The live picture on a terminal, plain lines everywhere else."""
    console = Console()
    return LiveView(zone, console) if console.is_terminal else PlainView(zone)
