"""What a tool printed, as text: byte-order marks, line ends, colours and mpirun's tags taken off.

Owns nothing of the meaning; a byte that is no text becomes U+FFFD, which no parser takes for a value.
"""

import re
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# mpirun --tag-output: [1,0]<stdout>:  Open MPI 5 prints [job-12345,0]<stdout>:, with a space or without.
_TAG = re.compile(r"^\[[^\]\s]*,\s*(\d+)\]\s*<std(?:out|err|diag)>\s*:\s?")


@dataclass(frozen=True)
class Line:
    """One line without its end; `ended` is False for a last line that may have been cut."""

    text: str
    ended: bool
    rank: int | None = None
    """mpirun's rank, where the line was tagged."""


def decoded(raw: bytes) -> str:
    """The text of a file, whatever shell wrote it."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", "replace")
    else:
        text = raw.decode("utf-8", "replace")
    return text.removeprefix("\ufeff")


def lines(text: str) -> list[Line]:
    """Its lines, untagged and without colours."""
    found = []
    for piece in text.split("\n"):
        stripped = _COLOUR.sub("", piece) if "\x1b" in piece else piece
        tag = _TAG.match(stripped)
        rank = int(tag[1]) if tag else None
        body = stripped[tag.end() :] if tag else stripped
        # A carriage return alone is the first half of a line's end: what stands before it is whole.
        found.append(Line(body.rstrip("\r").replace("\ufeff", ""), True, rank))
    last = found.pop()
    if last.text:
        found.append(Line(last.text, text.endswith("\r"), last.rank))
    return found
