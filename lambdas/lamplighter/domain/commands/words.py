"""Reads the words of `open`, `extend` and `skip`, as typed on the command line and in Slack.

spelling.py normalises them before. Owns the grammar `[POOL] [N] [at DAY HH:MM] [for D|until T] [because TEXT]`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

_DURATION = re.compile(
    r"(?:(\d{1,4})\s*h(?:ours?|rs?)?)?\s*(?:(\d{1,5})\s*m(?:in(?:utes?|s)?)?)?", re.IGNORECASE
)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MOST_NODES = 100  # the largest max_nodes of a pool
MOST_DIGITS = 9  # int() refuses thousands of digits with an error of its own
CLAUSES = ("at", "for", "until", "because")
"""The words that begin a clause of `open`."""


@dataclass(frozen=True)
class OpenWords:
    """The words of a person; words that are left out are None."""

    pool: str | None = None
    nodes: int | None = None
    opens: datetime | None = None
    duration: timedelta | None = None
    closes: datetime | None = None
    because: str | None = None


def is_duration(text: str) -> bool:
    """Whether the text is a duration."""
    return bool(text) and _DURATION.fullmatch(text) is not None


def duration(text: str) -> timedelta:
    """`3h`, `90m`, `1h30m`, `1 h 30 min`. Raises BadInput for anything else, and for nothing at all."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise BadInput(reason("command.no-duration", text=text[:80]))
    length = timedelta(hours=int(match[1] or 0), minutes=int(match[2] or 0))
    if not length:
        raise BadInput(reason("command.empty-duration", text=text[:80]))
    return length


def with_for(words: list[str], pools: Sequence[str]) -> list[str]:
    """`2 90m` means `2 for 90m`: a number of nodes never looks like a length."""
    ends = next((at for at, word in enumerate(words) if word in CLAUSES), len(words))
    lengths = [word for word in words[:ends] if is_duration(word) and word not in pools]
    if len(lengths) != 1:
        return words
    return [*(word for word in words[:ends] if word != lengths[0]), "for", lengths[0], *words[ends:]]


def open_words(words: list[str], pools: list[str], now: datetime, zone: ZoneInfo) -> OpenWords:
    """Reads the words after `open`. `zone` is the asker's; instants come back in UTC.

    Raises BadInput with the word that could not be read.
    """
    head, clauses = _clauses(words)
    said = _pool_and_nodes(head, pools)
    if "at" in clauses:
        said = replace(said, opens=_day_and_clock(clauses["at"], now, zone))
    if "for" in clauses and "until" in clauses:
        raise BadInput(reason("command.for-and-until"))
    if "for" in clauses:
        said = replace(said, duration=duration(" ".join(clauses["for"])))
    if "until" in clauses:
        said = replace(said, closes=_day_and_clock(clauses["until"], said.opens or now, zone))
    if "because" in clauses:
        said = replace(said, because=" ".join(clauses["because"]))
    return said


def extend_words(words: list[str], now: datetime, zone: ZoneInfo) -> tuple[str | None, OpenWords]:
    """`[POOL|LEASE] D|until T [because TEXT]`; names may begin with a digit, as lengths do."""
    first = words[0] if words else ""
    # A single word that begins with a digit is a length, `1 h` is one in two words, and `1h` is no lease.
    follows = len(words) > 1 and words[1].lower() != "because"
    named = first[:1].isalpha() or (follows and not first.isdecimal() and not is_duration(first))
    what = first if named and first.lower() not in ("until", "for") else None
    rest = words[1:] if what else words
    if not rest:
        raise BadInput(reason("command.extend-by-what"))
    begins = rest[0].lower() in ("until", "for")
    return what, open_words(rest if begins else ["for", *rest], [], now, zone)


def date_and_reason(words: list[str]) -> tuple[str | None, str | None]:
    """`[DATE] [because TEXT]`; BadInput for any other word."""
    if not words or words[0].lower() == "because":
        return None, reason_given(words)
    try:
        day = date.fromisoformat(words[0]).isoformat()
    except ValueError:
        raise BadInput(reason("command.no-date", text=words[0][:80])) from None
    return day, reason_given(words[1:])


def reason_given(words: list[str]) -> str | None:
    """`[because TEXT]`; BadInput for any other word."""
    if not words:
        return None
    if words[0].lower() != "because":
        raise BadInput(reason("command.not-because", word=words[0][:80]))
    if not words[1:]:
        raise BadInput(_EMPTY_CLAUSES["because"])
    return " ".join(words[1:])


def pause_words(words: list[str], now: datetime, zone: ZoneInfo) -> OpenWords:
    """`[until T|for D] [because TEXT]`; a pause begins now and is for the whole lab."""
    if words and words[0].lower() not in {"until", "for", "because"}:
        raise BadInput(reason("command.not-of-a-pause", word=words[0][:80]))
    said = open_words(words, [], now, zone)
    if said.opens is not None:
        raise BadInput(reason("command.pause-begins-now"))
    return said


def _clauses(words: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    head: list[str] = []
    clauses: dict[str, list[str]] = {}
    current = head
    for word in words:
        keyword = word.lower()
        if keyword in CLAUSES and "because" not in clauses:
            if keyword in clauses:
                raise BadInput(reason("command.said-twice", word=keyword))
            current = clauses[keyword] = []
        else:
            current.append(word)
    for keyword, rest in clauses.items():
        if not rest:
            raise BadInput(_EMPTY_CLAUSES[keyword])
    return head, clauses


_EMPTY_CLAUSES = {
    "at": reason("command.empty.at"),
    "for": reason("command.empty.for"),
    "until": reason("command.empty.until"),
    "because": reason("command.empty.because"),
}


def _pool_and_nodes(head: list[str], pools: list[str]) -> OpenWords:
    said = OpenWords()
    for word in head:
        if word in pools and said.pool is None:
            said = replace(said, pool=word)
        elif word.isdecimal() and said.nodes is None:
            if len(word) > MOST_DIGITS or not 1 <= int(word) <= MOST_NODES:
                raise BadInput(reason("command.nodes-out-of-range", word=word[:80], most=MOST_NODES))
            said = replace(said, nodes=int(word))
        else:
            raise BadInput(reason("command.no-pool-nor-number", word=word[:80], pools=", ".join(pools)))
    return said


def _day_and_clock(words: list[str], after: datetime, zone: ZoneInfo) -> datetime:
    """The first instant after `after` with this day and clock time in `zone`, or an RFC 3339 instant as it is."""
    text = " ".join(words).strip()
    if text[:1].isdecimal() and "T" in text.upper() and len(words) == 1:
        return _instant(text)
    day, _, clock = text.lower().rpartition(" ")
    if clock == "24:00":
        hours, minutes = 24, 0
    else:
        match = _CLOCK.fullmatch(clock)
        if match is None:
            raise BadInput(reason("command.no-time", text=text[:80]))
        hours, minutes = int(match[1]), int(match[2])
    today = after.astimezone(zone).date()
    candidates = _dates(day, today)
    for candidate in candidates:
        try:
            instant = _on_clock(candidate, hours, minutes, zone)
        except OverflowError:
            raise BadInput(reason("command.no-day", text=day[:80])) from None
        if instant > after:
            return instant
    raise BadInput(reason("command.time-has-passed", text=text[:80]))


def _dates(day: str, today: date) -> list[date]:
    if not day:
        return [today, today + timedelta(days=1)]
    if day in ("today", "tonight"):
        return [today]
    if day == "tomorrow":
        return [today + timedelta(days=1)]
    if day[:3] in _DAYS and "monday tuesday wednesday thursday friday saturday sunday".find(day) >= 0:
        ahead = (_DAYS.index(day[:3]) - today.weekday()) % 7
        return [today + timedelta(days=ahead), today + timedelta(days=ahead + 7)]
    try:
        return [date.fromisoformat(day)]
    except ValueError:
        raise BadInput(reason("command.no-day", text=day[:80])) from None


def _on_clock(day: date, hours: int, minutes: int, zone: ZoneInfo) -> datetime:
    """Like a window's end: the first of two, and the end of a spring gap for a time that does not exist."""
    if hours == 24:  # noqa: PLR2004 - the end of the day, as the window grammar allows it
        day, hours = day + timedelta(days=1), 0
    wall = datetime.combine(day, time(hours, minutes), zone)
    instant = wall.astimezone(UTC)
    exists = instant.astimezone(zone).replace(tzinfo=None) == wall.replace(tzinfo=None)
    if exists:
        return instant
    gap = wall.replace(fold=0).utcoffset(), wall.replace(fold=1).utcoffset()
    before, after = (offset or timedelta(0) for offset in gap)
    # In a gap fold=0 reads with the offset before it; the gap ends where the wall clock jumped.
    shifted = wall.replace(tzinfo=UTC) - before
    return _gap_end(shifted - (after - before), shifted, zone)


def _gap_end(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    offset = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return high.replace(microsecond=0)


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
        in_utc = instant.astimezone(UTC) if instant.tzinfo else None
    except (ValueError, OverflowError):
        raise BadInput(reason("command.no-instant", text=text[:80])) from None
    if in_utc is None:
        raise BadInput(reason("command.no-time-zone", text=text[:80]))
    return in_utc
