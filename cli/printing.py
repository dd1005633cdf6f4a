"""Prints answers: JSON documents, tables, reasons in English, and instants with their zone. Colour is for terminals."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.errors import LamplighterError
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, Sentences, draw

MOST_DRAWN = 500
"""More rows than this are written as plain lines: rich would take seconds."""
_reader_zone = ZoneInfo("UTC")


def as_json(document: object) -> None:
    """One JSON document on stdout and nothing else. Its reasons become English by the lab's clock."""
    sys.stdout.write(json.dumps(_with_words(document), indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """A plain line on stdout."""
    sys.stdout.write(text + "\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table on stdout. Where stdout is no terminal, the table is as wide as its text, so that nothing is cut."""
    rows = list(rows)
    console = Console(highlight=False)
    if not console.is_terminal or len(rows) > MOST_DRAWN:
        sys.stdout.writelines(_plain(columns, rows, title))
        return
    drawn = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        # People's words are plain text: rich would read [words] in brackets as colours.
        drawn.add_row(*map(Text, row))
    # Written here, not by rich: on a closed pipe rich ends the program with its own exit code.
    with console.capture() as captured:
        console.print(drawn)
    sys.stdout.write(captured.get())


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None) -> Iterator[str]:
    """The lines of a table for files, for pipes, and for tables with very many rows."""
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


def show_instants_in(zone: ZoneInfo) -> None:
    """Errors and JSON documents show instants by the clock of this zone from now on: the lab's, once it is read."""
    global _reader_zone  # noqa: PLW0603 -- an error does not know its lab
    _reader_zone = zone


def drawn_error(error: LamplighterError) -> str:
    """The reason of an error in English, with its instants by the lab's clock, or in UTC before the lab is read."""
    return drawn(error.said, _reader_zone)


def _with_words(value: object) -> object:
    """The document with every reason in it as text, also reasons in the ledger's JSON form."""
    match value:
        case Reason() | Sentences():
            return drawn(value, _reader_zone)
        case {"code": str(), "values": _} | {"sentences": _}:
            return drawn(read(value), _reader_zone)
        case Mapping():
            return {key: _with_words(part) for key, part in value.items()}
        case list() | tuple():
            return [_with_words(part) for part in value]
        case _:
            return value


def local(instant: datetime | None, zone: ZoneInfo) -> str:
    """`Tue 1 Dec 20:00 KST`, or a dash."""
    if instant is None:
        return "-"
    at = instant.astimezone(zone)
    return f"{at:%a} {at.day} {at:%b %H:%M %Z}"
