"""How answers look: JSON documents, tables, and instants with their zone; colour only on a terminal."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.table import Table


def as_json(document: object) -> None:
    """One JSON document on stdout and nothing else."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """A plain line on stdout."""
    sys.stdout.write(text + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table on stdout; as wide as it must be where stdout is no terminal, so that nothing is cut."""
    drawn = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        drawn.add_row(*row)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 200)
    # Written by ourselves: where the reader has left, rich would end the program with its own exit code.
    with console.capture() as captured:
        console.print(drawn)
    sys.stdout.write(captured.get())


def local(instant: datetime | None, zone: ZoneInfo) -> str:
    """`Tue 1 Dec 20:00 KST`, or a dash."""
    if instant is None:
        return "-"
    at = instant.astimezone(zone)
    return f"{at:%a} {at.day} {at:%b %H:%M %Z}"
