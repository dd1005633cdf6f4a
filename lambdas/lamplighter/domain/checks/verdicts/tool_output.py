"""A tool's output as text, without byte-order marks, colours and mpirun's tags.

A byte that is no text becomes U+FFFD, which no parser takes for a value.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# mpirun --tag-output: [1,0]<stdout>:  Open MPI 5 prints [job-12345,0]<stdout>:, with a space or without.
_TAG = re.compile(r"^\[[^\]\s]*,\s*(\d{1,6})\]\s*<std(?:out|err|diag)>\s*:\s?")


class OutputLine(NamedTuple):
    """One line without its line end; `ended` is False for a last line that may be cut off."""

    text: str
    ended: bool
    rank: int | None = None
    """mpirun's rank, where the line was tagged."""


def decoded(raw: bytes) -> str:
    """The text of a file, in UTF-8 or UTF-16."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", "replace")
    else:
        text = raw.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


def lines(text: str) -> Iterator[OutputLine]:
    """The lines of a text, without tags and colours."""
    clean = _COLOUR.sub("", text) if "\x1b" in text else text
    clean = clean.replace("\ufeff", "").replace("\r\n", "\n")
    *whole, last = clean.split("\n")
    tagged = "<std" in clean
    for piece in whole:
        yield _line(piece, ended=True) if tagged else OutputLine(piece, True)
    if last.rstrip("\r"):
        # A carriage return alone is the first half of a line end: the text before it is complete.
        yield _line(last.rstrip("\r"), ended=last.endswith("\r"))


def _line(piece: str, *, ended: bool) -> OutputLine:
    tag = _TAG.match(piece) if piece.startswith("[") else None
    if tag is None:
        return OutputLine(piece, ended)
    return OutputLine(piece[tag.end() :], ended, int(tag[1]))
