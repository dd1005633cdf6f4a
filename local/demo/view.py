"""What a person sees of the day: a live picture on a terminal, plain lines elsewhere.

The pool in it is the same view that `status --watch`, Slack and the pages show.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cli import printing
from cli.understand.drawn import pool_panel
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.reasons.reason import Said

LINES_KEPT = 14


@dataclass(frozen=True, slots=True)
class Now:
    """The upper half of the picture: the state of AWS, the running step, and the pool as everything else shows it."""

    at: datetime
    instances: int
    justified: int
    steps: str
    pool: Callable[[], PoolView]
    """Reads the pool's view; only a picture needs it."""


@dataclass(frozen=True, slots=True)
class DayEvent:
    """One event of the day."""

    at: datetime
    kind: str
    actor: str
    what: Said


class View(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def progress(self, text: str) -> None:
        """Shows progress of the set-up."""

    def now(self, now: Now) -> None:
        """Shows a change of the state."""

    def line(self, line: DayEvent) -> None:
        """Shows an event."""


class PlainView:
    """One line for each event, in order; for logs and pipes."""

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

    def line(self, line: DayEvent) -> None:
        what = printing.drawn(line.what, self._zone)
        sys.stdout.write(
            f"{line.at.astimezone(self._zone):%a %H:%M:%S %Z}  {line.kind:<16} {line.actor:<16} {what}\n"
        )
        sys.stdout.flush()


class LiveView:
    """Clock, EC2 and workflow step; the pool as `status --watch` draws it; the last events. It is redrawn in place."""

    def __init__(self, zone: ZoneInfo, console: Console) -> None:
        self._zone = zone
        self._now: tuple[Now, PoolView] | None = None
        self._progress = ""
        self._lines: list[DayEvent] = []
        self._live = Live(console=console, refresh_per_second=8, get_renderable=self.picture)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def progress(self, text: str) -> None:
        self._progress = text

    def now(self, now: Now) -> None:
        self._now = now, now.pool()

    def line(self, line: DayEvent) -> None:
        self._lines.append(line)

    def picture(self) -> Group:
        """The whole picture at present."""
        return Group(*self._state(), self._log())

    def _state(self) -> list[RenderableType]:
        if self._now is None:
            text = Text(self._progress or "starting …", style="dim")
            return [Panel(text, title="Lamplighter", box=box.ROUNDED)]
        now, pool = self._now
        grid = Table.grid(padding=(0, 2))
        bar = "●" * now.instances + "○" * max(0, now.justified - now.instances)
        colour = "green" if now.instances <= now.justified else "red"
        rows: list[tuple[str, str | Text]] = [
            ("clock", f"{now.at.astimezone(self._zone):%a %d %b %Y %H:%M:%S %Z}"),
            ("in EC2", Text(f"{bar or '-'}  {now.instances} of {now.justified} GPU nodes", style=colour)),
            ("step", now.steps or "-"),
        ]
        for name, value in rows:
            grid.add_row(Text(name, style="dim"), value)
        day = Panel(grid, title="Lamplighter: a lab day", title_align="left", box=box.ROUNDED)
        return [day, pool_panel(pool, now.at, self._zone)]

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
                printing.drawn(line.what, self._zone),
            )
        return log


def view_for(zone: ZoneInfo) -> View:
    """The live picture on a terminal, plain lines everywhere else."""
    console = Console()
    return LiveView(zone, console) if console.is_terminal else PlainView(zone)
