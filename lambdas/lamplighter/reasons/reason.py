"""A reason, refusal, finding or notice as a value: a code and its parameters, never a sentence.

Code that decides makes one. The edge draws it, in one language and by one clock. document.py keeps it as JSON.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TypeAlias

from lamplighter.data.texts import DEFAULT, ENGLISH, Texts
from lamplighter.values.clock_time import clock_time, told_by
from lamplighter.values.counted import NAMED, write_duration


@dataclass(frozen=True, slots=True)
class Reason:
    """A code of the catalogue, such as `lease.already-open`, and a value for each name in its text."""

    code: str
    values: Mapping[str, "Value"] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.code, *sorted(self.values)))

    def __str__(self) -> str:
        """In English, with instants in UTC: for logs. The edge uses `draw`."""
        return in_english(self)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Reasons one after the other: `first; second`, or, `whole`, each as a sentence of its own: `First. Second.`"""

    sentences: tuple["Said", ...]
    whole: bool = False

    def __str__(self) -> str:
        return in_english(self)


Said: TypeAlias = Reason | Sentences | str
"""A reason; or words of a person or of an outside system, which stay as they are in every language."""

Value: TypeAlias = Said | int | date | datetime | timedelta | tuple["Value", ...]
"""What a parameter may be: an amount of money and a fraction are written by who makes the reason."""


def reason(code: str, /, **values: Value) -> Reason:
    """A reason of this code."""
    return Reason(code, values)


def several(reasons: Sequence[Said], /, most: int = NAMED) -> Said:
    """One reason as it is; of many the first `most` and the number of the others, which bounds what is kept."""
    if len(reasons) == 1:
        return reasons[0]
    more = len(reasons) - most
    first = Sentences(tuple(reasons[:most]))
    return Sentences((first, reason("words.more-like-these", more=more))) if more > 0 else first


def first_of(names: Sequence[str], /) -> tuple[Value, ...]:
    """The names as a value; of many the first and the number of the others, which bounds what is kept."""
    more = len(names) - NAMED
    return (*names[:NAMED], reason(_MORE, more=more)) if more > 0 else tuple(names)


def because(code: str, said: Said | None, /) -> Reason | str:
    """The reason of this code about what somebody gave as theirs, `said`; nothing where nobody said why."""
    return Reason(code, {"said": said}) if said else ""


def paragraph(*sentences: Said | None) -> Sentences:
    """Whole sentences one after the other, without those that nobody says: `First. Second.`"""
    return Sentences(tuple(sentence for sentence in sentences if sentence), whole=True)


def as_sentence(text: str, texts: Texts) -> str:
    """A drawn text with a full stop; in English with a capital first, unless it begins with a name such as `ip-1`."""
    text = text.strip()
    if text and not text.endswith((".", "!", "?")):
        text = f"{text}."
    begins_with_word = texts.language == DEFAULT and _WORD.match(text)
    return f"{text[:1].upper()}{text[1:]}" if begins_with_word else text


_WORD = re.compile(r"[a-z]+('s)?(?=[\s,.;:!?]|$)")

Clock = Callable[[datetime], str]
"""How an instant is written: a time zone, and whether the day is said."""


def draw(said: Said | None, texts: Texts, clock: Clock) -> str:
    """The words in the language of these texts; empty where nobody said anything."""
    if said is None:
        return ""
    if isinstance(said, str):
        return told_by(clock, said)
    if isinstance(said, Sentences):
        return _sentences(said, texts, clock)
    values = {
        name: value if isinstance(value, int) else _drawn(value, texts, clock)
        for name, value in said.values.items()
    }
    return texts.say(said.code, **values)


def in_english(said: Said | None) -> str:
    """In English, with instants as `20:00 UTC on 2026-11-20`."""
    return draw(said, ENGLISH, clock_time)


def _drawn(value: Value, texts: Texts, clock: Clock) -> str:
    if isinstance(value, Reason | Sentences | str):
        return draw(value, texts, clock)
    if isinstance(value, datetime):
        return clock(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return write_duration(value)
    if isinstance(value, tuple):
        is_counted = bool(value) and isinstance(value[-1], Reason) and value[-1].code == _MORE
        return _named([_drawn(part, texts, clock) for part in value], texts, is_counted=is_counted)
    return str(value)


_MORE = "words.more"


def _named(names: list[str], texts: Texts, *, is_counted: bool) -> str:
    more = len(names) - NAMED
    if more > 0 and not is_counted:
        names = [*names[:NAMED], texts.say(_MORE, more=more)]
    return texts.joined([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _sentences(said: Sentences, texts: Texts, clock: Clock) -> str:
    if said.whole:
        drawn = (as_sentence(draw(sentence, texts, clock), texts) for sentence in said.sentences)
        return " ".join(filter(None, drawn))
    more = len(said.sentences) - NAMED
    told = [draw(sentence, texts, clock) for sentence in said.sentences[:NAMED]]
    return "; ".join([*told, *([texts.say("words.more-like-these", more=more)] if more > 0 else [])])
