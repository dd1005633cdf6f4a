"""The bytes of a calendar -> the content lines of RFC 5545 (section 3.1), as a parser needs them.

Owns repairs that need no guess: line ends, folds, spaces after BEGIN and END, and a TZID on a value that needs none.
The parser knows what the lines mean.
"""

import re
from collections.abc import Iterator

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

_ENDS = re.compile(rb"[\r\n]+")
_FOLD = re.compile(rb"\n[ \t]")
_EDGE = re.compile(r"\s*(BEGIN|END)\s*:\s*([\w-]+)\s*", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<name>DTSTART|DTEND|RECURRENCE-ID|RDATE|EXDATE)(?P<parameters>(?:;[\w-]+=(?:\"[^\"]*\"|[^\";:]*))*):"
    r"(?P<values>.*)",
    re.IGNORECASE,
)
_RULE = re.compile(r"(RRULE|EXRULE)\b[^:]*:", re.IGNORECASE)
_TZID = re.compile(r";TZID=(?:\"[^\"]*\"|[^\";:]*)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{8}")
SEVERAL = {"RDATE", "EXDATE"}
"""Properties that hold a list of times."""


def content_lines(content: bytes) -> list[str]:
    """The lines of a calendar, unfolded; BadInput if they are not UTF-8.

    A fold may be inside a character of several bytes (RFC 5545, section 3.1): bytes are unfolded, then decoded.
    """
    lines = _ENDS.sub(b"\n", content.removeprefix(b"\xef\xbb\xbf"))
    try:
        text = _FOLD.sub(b"", lines).decode()
    except UnicodeDecodeError:
        raise BadInput(reason("calendar.file.not-utf8", byte=_first_bad(content))) from None
    return [tidied for line in text.split("\n") if line for tidied in _tidied(line)]


def edge(line: str) -> tuple[str, str]:
    """BEGIN or END with the name of the component; two empty words for another line."""
    word, _, name = line.partition(":")
    return (word, name) if word in {"BEGIN", "END"} else ("", "")


def _first_bad(content: bytes) -> int:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _tidied(line: str) -> Iterator[str]:
    found = _EDGE.fullmatch(line)
    if found is not None:
        yield f"{found[1].upper()}:{found[2].upper()}"
        return
    time = _TIME.fullmatch(line)
    if time is None:
        # No part of a rule holds a space.
        yield "".join(line.split()) if _RULE.match(line) else line
        return
    yield from _times(time["name"].upper(), time["parameters"], time["values"])


def _times(name: str, parameters: str, values: str) -> Iterator[str]:
    """The values with their zone, then the values that need none: dates, and times in UTC."""
    times = [values.strip()] if name not in SEVERAL else list(filter(None, map(str.strip, values.split(","))))
    zoned = [value for value in times if not _is_zoneless(value)]
    zoneless = [value for value in times if _is_zoneless(value)]
    if zoned:
        yield f"{name}{parameters}:{','.join(zoned)}"
    if zoneless:
        yield f"{name}{_TZID.sub('', parameters)}:{','.join(zoneless)}"


def _is_zoneless(value: str) -> bool:
    return _DATE.fullmatch(value) is not None or value.partition("/")[0].upper().endswith("Z")
