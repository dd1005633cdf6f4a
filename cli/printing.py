"""Prints answers: JSON documents, tables, reasons in English, and instants with their zone. Colour is for terminals.

Nothing else in the command line writes to stdout or stderr. Other people wrote many of the values, and a control
character in one could hide lines of the terminal, forge some, or fill its clipboard. So it is shown, such as `\\x1b`.
JSON is printed to the byte: it escapes the characters below U+0020 itself.
"""

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.cells import cell_len
from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.errors import LamplighterError
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, Sentences, draw

MOST_DRAWN = 500
"""More rows than this are written as plain lines: rich would take seconds."""
_reader_zone = ZoneInfo("UTC")
_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    r"|\r(?!\n)"  # a calendar's lines end with both
    r"|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"  # reorder the text, or end its line
)


def visible(text: str) -> str:
    """A text of several lines, with its control characters shown. Its newlines and tabs stay."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_line(text: str) -> str:
    """The same for a text within a line: a newline is part of a value, and is shown as well."""
    return visible(text.replace("\n", "\\n"))


class Console(RichConsole):
    """Its own colours and cursor movements stay; the texts in them are shown like every other."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def write(self, *parts: RenderableType, sep: str = " ") -> None:
        """The same as `print`, but on a closed pipe rich would end the program with its own exit code."""
        with self.capture() as captured:
            self.print(*parts, sep=sep)
        sys.stdout.write(captured.get())


def speak_utf_8() -> None:
    """Print UTF-8 in every locale; a character that cannot be encoded is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def as_json(document: object) -> None:
    """One JSON document on stdout and nothing else. Its reasons become English by the lab's clock."""
    json_text(json.dumps(_with_words(document), indent=2, ensure_ascii=False))


def json_text(text: str) -> None:
    """JSON on stdout: the same value, with control characters escaped. All of them are within its strings."""
    sys.stdout.write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def say(text: str) -> None:
    """A line on stdout."""
    sys.stdout.write(in_line(text) + "\n")


def say_each(lines: Iterable[str]) -> None:
    """Lines on stdout."""
    for line in lines:
        say(line)


def say_on_stderr(text: str) -> None:
    """A line on stderr."""
    sys.stderr.write(in_line(text) + "\n")


def document(text: str) -> None:
    """A document of several lines on stdout, which ends its last line itself."""
    sys.stdout.write(visible(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """A table on stdout. Where stdout is no terminal, the table is as wide as its text, so that nothing is cut."""
    rows = [[in_line(cell) for cell in row] for row in rows]
    console = Console(highlight=False)
    if not console.is_terminal or len(rows) > MOST_DRAWN:
        say_each(_plain(columns, rows, title))
        return
    # A word that is longer than its column goes on in the next line: rich would cut an id or a price.
    headers = [Column(name, overflow="fold") for name in columns]
    drawn = Table(*headers, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        # People's words are plain text: rich would read [words] in brackets as colours.
        drawn.add_row(*map(Text, row))
    console.write(drawn)


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None) -> Iterator[str]:
    """The lines of a table for files, for pipes, and for tables with very many rows."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
        return "  ".join(padded).rstrip()

    if title:
        yield title
    yield line(columns)
    yield line(["─" * width for width in widths])
    yield from map(line, rows)
    yield ""


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
