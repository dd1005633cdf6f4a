"""How answers look: JSON documents, tables, and instants with their zone; colour only on a terminal."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.reasons.reason import Said, draw

MOST_DRAWN = 500


def as_json(document: object) -> None:
    """One JSON document on stdout and nothing else."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """A plain line on stdout."""
    sys.stdout.write(text + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table on stdout; as wide as it must be where stdout is no terminal, so that nothing is cut."""
    rows = list(rows)
    console = Console(highlight=False)
    if not console.is_terminal or len(rows) > MOST_DRAWN:
        sys.stdout.writelines(_plain(columns, rows, title))
        return
    drawn = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        # What people wrote is text: rich would take [words] in brackets for colours.
        drawn.add_row(*map(Text, row))
    # Written by ourselves: where the reader has left, rich would end the program with its own exit code.
    with console.capture() as captured:
        console.print(drawn)
    sys.stdout.write(captured.get())


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None) -> Iterator[str]:
    """The lines of a table for files, pipes, and more rows than a terminal has use for."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
        return "  ".join(padded).rstrip() + "\n"

    yield f"{title}\n" if title else ""
    yield line(columns)
    yield line(["─" * width for width in widths])
    yield from map(line, rows)
    yield "\n"


def drawn(said: Said | None, zone: ZoneInfo) -> str:
    """A reason in English, with its instants by the clock of a zone."""
    return draw(said, ENGLISH, clock_of(zone))


def local(instant: datetime | None, zone: ZoneInfo) -> str:
    """`Tue 1 Dec 20:00 KST`, or a dash."""
    if instant is None:
        return "-"
    at = instant.astimezone(zone)
    return f"{at:%a} {at.day} {at:%b %H:%M %Z}"
