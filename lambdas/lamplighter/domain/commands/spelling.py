"""Normalises typed text: smart quotes, odd spaces, capitals and other forms of times become the words of the grammar.

Reasons stay as they were typed. words.py gives the words their meaning, in Slack and on the command line alike.
"""

import re
import unicodedata
from collections.abc import Iterable

_SPACES = re.compile(r"[\s\u00a0\u2000-\u200b\u202f\u3000\ufeff]+")
_QUOTES = re.compile("[\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\"'`]")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_ENDS = ".,;!?…。"
_DAY = (
    r"(?:today|tonight|tomorrow|\d{4}-\d\d-\d\d"
    r"|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_TWELVE = re.compile(r"\b(1[0-2]|0?[1-9])(?::([0-5]\d))?\s*([ap])\.?m\b\.?", re.IGNORECASE)
_DOTTED = re.compile(r"\b(until|at)\s+((?:\w+\s+)?)([01]?\d|2[0-3])[.h]([0-5]\d)\b", re.IGNORECASE)
_BARE = re.compile(
    r"\b(until|at)\s+((?:[a-z]+\s+)?)([01]?\d|2[0-3])(?=$|\s+(?:for|until|because)\b)", re.IGNORECASE
)
_FRACTION = re.compile(r"\b(\d{1,3})[.,](\d)\s*h(?:ours?|rs?)?\b", re.IGNORECASE)
_SAID_SO = (
    (re.compile(r"\bhalf an hour\b", re.IGNORECASE), "30m"),
    (re.compile(r"\ban hour and a half\b", re.IGNORECASE), "1h30m"),
    (re.compile(r"\b(?:an|one) hour\b", re.IGNORECASE), "1h"),
    (re.compile(r"\btill?\b|\buntill\b", re.IGNORECASE), "until"),
    (re.compile(r"\b(until|at)\s+noon\b", re.IGNORECASE), r"\1 12:00"),
    (re.compile(r"\b(until|at)\s+midnight\b", re.IGNORECASE), r"\1 24:00"),
    (re.compile(r"\ba (?:node|machine)\b", re.IGNORECASE), "1"),
    (re.compile(r"(\d)\s*(?:nodes?|machines?)\b", re.IGNORECASE), r"\1"),
)
_LENGTHS = (
    (
        re.compile(r"\b(\d{1,3})\s*h(?:ours?|rs?)?\s+and\s+(\d{1,2})\s*m(?:in(?:ute)?s?)?\b", re.IGNORECASE),
        r"\1h\2m",
    ),
    (re.compile(r"\b(\d{1,3})h([0-5]\d)\b", re.IGNORECASE), r"\1h\2m"),
    (re.compile(r"\b(\d{1,5})\s+(h(?:ours?|rs?)?|m(?:in(?:ute)?s?)?)\b", re.IGNORECASE), r"\1\2"),
)
_TIMES = (
    (re.compile(rf"\bon\s+(?={_DAY}\b)", re.IGNORECASE), ""),
    (re.compile(rf"\b(\d{{1,2}}:\d\d)\s+({_DAY})\b", re.IGNORECASE), r"\2 \1"),
    (re.compile(rf"\b((?:until|to)\s+{_DAY})\s+at\s+(?=\d{{1,2}}:)", re.IGNORECASE), r"\1 "),
    (re.compile(rf"\b({_DAY})\s+at\s+(?=\d{{1,2}}:)", re.IGNORECASE), r"at \1 "),
    (re.compile(rf"\bfrom\s+(?=(?:{_DAY}\s+)?\d{{1,2}}:)", re.IGNORECASE), "at "),
    (re.compile(rf"\bto\s+(?=(?:{_DAY}\s+)?\d{{1,2}}:)", re.IGNORECASE), "until "),
    (re.compile(rf"(?<!at )(?<!until )\b({_DAY}\s+\d{{1,2}}:\d\d)\b", re.IGNORECASE), r"at \1"),
)
"""Puts days before their times, and writes a start and an end as the grammar does."""
_COUNTED = dict(
    zip(("one", "two", "three", "four", "five", "six", "seven", "eight"), "12345678", strict=True)
)
_OF_NODES = frozenset({"node", "nodes", "machine", "machines"})
_NOTHING = frozenset({"please", "now", "the", "a", "by", "more", "longer", "on", "pool", "window", "lab"})
"""Words without a meaning here, unless the lab has something of that name, or there is no other word."""
_LOWERED = frozenset({"at", "for", "until", "because"})


def words(text: str, names: Iterable[str]) -> list[str]:
    """The words of a text; a name of the lab is written as the lab writes it, a reason as it was typed."""
    known = {name.lower(): name for name in names}
    plain = _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip()
    for escaped, meant in _ESCAPES:
        plain = plain.replace(escaped, meant)
    head, because = _split(plain)
    said: list[str] = []
    for word in _spoken(head).split():
        bare = word.strip(_ENDS) or ("?" if "?" in word else "")
        small = bare.lower()
        if small in known:
            said.append(known[small])
        elif small in _LOWERED:
            said.append(small)
        elif small in _COUNTED:
            said.append(_COUNTED[small])
        elif small in _OF_NODES and said and said[-1].isdecimal():
            continue
        elif bare and (small not in _NOTHING or plain.lower().strip(_ENDS) == small):
            said.append(bare)
    return [*said, *(["because", *because.split()] if because else [])]


def _split(plain: str) -> tuple[str, str]:
    """The request, and the reason behind `because`."""
    found = re.search(r"(?:^|\s)because(?:\s|$)", plain, re.IGNORECASE)
    if found is None:
        return plain, ""
    return plain[: found.start()], plain[found.end() :].strip()


def _spoken(head: str) -> str:
    """The request without quotes, with times as the grammar writes them."""
    plain = _QUOTES.sub("", head)
    for pattern, ours in _SAID_SO:
        plain = pattern.sub(ours, plain)
    plain = _FRACTION.sub(_minutes, plain)
    plain = _TWELVE.sub(_of_24, plain)
    plain = _DOTTED.sub(r"\1 \2\3:\4", plain)
    plain = _BARE.sub(r"\1 \2\3:00", plain)
    for pattern, ours in (*_LENGTHS, *_TIMES):
        plain = pattern.sub(ours, plain)
    return plain


def _minutes(found: re.Match[str]) -> str:
    return f"{int(found[1]) * 60 + int(found[2]) * 6}m"


def _of_24(found: re.Match[str]) -> str:
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour:02}:{found[2] or '00'}"
