"""The meaning of words that are typed in Slack, and of pressed buttons: one value for both.

It accepts many spellings, but it never guesses: an unknown word is answered with the nearest known one. In
domain/commands, spelling.py normalises the text, and words.py owns the grammar of `open` and `extend`.

To add a word: name it in `Word`, read what follows it in `_READS`, give it its right in roles.py and its function in
`_DOES` of application/slack/answering.py; tests/unit/slack/test_reference.py asks for both. CONTRIBUTING.md names the
texts and pages.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from zoneinfo import ZoneInfo

from lamplighter.domain.commands import spelling
from lamplighter.domain.commands.words import (
    OpenWords,
    date_and_reason,
    extend_words,
    open_words,
    pause_words,
    reason_given,
    with_for,
)
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason


class Word(StrEnum):
    """The commands after the slash command."""

    STATUS = "status"
    OPEN = "open"
    EXTEND = "extend"
    CLOSE = "close"
    KEEP = "keep"
    SKIP = "skip"
    UNSKIP = "unskip"
    PAUSE = "pause"
    RESUME = "resume"
    WINDOWS = "windows"
    FREE = "free"
    LEASES = "leases"
    COST = "cost"
    WHY = "why"
    HELP = "help"
    ASK = "ask"
    APPROVE = "approve"
    DECLINE = "decline"
    TELL_ME = "tell-me"
    TAKE = "take"
    BOOK = "book"
    MOVE = "move"


ONLY_BUTTONS = frozenset(
    {Word.ASK, Word.APPROVE, Word.DECLINE, Word.TELL_ME, Word.TAKE, Word.BOOK, Word.MOVE}
)
SEEING = frozenset({Word.STATUS, Word.WINDOWS, Word.FREE, Word.LEASES, Word.COST, Word.WHY, Word.HELP})
"""Commands that change nothing. Everybody may use them."""
ELSEWHERE = frozenset({"experiment", "arm", "ack", "adopt", "simulate", "check", "diagnose", "doctor"})
"""Verbs that only the command line has."""
_ALSO = {
    "": Word.STATUS,
    "state": Word.STATUS,
    "start": Word.OPEN,
    "prolong": Word.EXTEND,
    "stop": Word.CLOSE,
    "end": Word.CLOSE,
    "who": Word.LEASES,
    "window": Word.WINDOWS,
    "lease": Word.LEASES,
    "calendar": Word.WINDOWS,
    "costs": Word.COST,
    "budget": Word.COST,
    "?": Word.HELP,
}


@dataclass(frozen=True, slots=True)
class Understood:
    """What a person wants, as far as their words tell."""

    word: Word
    said: OpenWords = field(default_factory=OpenWords)
    """Pool, nodes, times and reason, where the words name them."""
    what: str | None = None
    """The pool or the lease that is meant."""
    window: str | None = None
    date: str | None = None
    add: bool = False
    """The person wants more nodes beside those that are open."""
    confirmed: bool = False
    """The person knows that the lease belongs to somebody else."""
    asks: Word | None = None
    """Of `ask`: the command that needs approval."""
    ask: str | None = None
    """Of `approve` and `decline` the request; of `take` the place in the waiting list; of `book` what was refused."""


@dataclass(frozen=True, slots=True)
class WordContext:
    """What words may refer to: the names in the lab, and the asker's time and zone."""

    pools: Sequence[str]
    windows: Sequence[str]
    now: datetime
    zone: ZoneInfo


class NotUnderstood(BadInput):
    """A word that is not a command; `nearest` is the most similar command."""

    def __init__(self, word: str, nearest: Word | None) -> None:
        self.word, self.nearest = word[:80], nearest
        super().__init__(
            reason("slack.unknown-word", word=self.word)
            if nearest is None
            else reason("slack.unknown-word.nearest", word=self.word, nearest=nearest.value)
        )


def typed(text: str, context: WordContext) -> Understood:
    """The meaning of typed words; NotUnderstood for an unknown first word, BadInput for a later one."""
    words = spelling.words(text, (*context.pools, *context.windows))
    first, rest = (words[0].lower(), words[1:]) if words else ("", [])
    if first in ELSEWHERE:
        raise BadInput(reason("slack.command-line-only", word=first))
    typable = [word.value for word in Word if word not in ONLY_BUTTONS]
    word = Word(first) if first in typable else _ALSO.get(first)
    if word is None:
        near = difflib.get_close_matches(first, typable, n=1, cutoff=0.6)
        raise NotUnderstood(first, Word(near[0]) if near else None)
    reads = _READS.get(word)
    if reads is not None:
        return reads(rest, context)
    return Understood(word, what=rest[0] if rest and rest[0] in context.pools else None)


def pressed(action: str, carried: Carried) -> Understood:
    """The meaning of a pressed button; BadInput for an unknown one."""
    said = OpenWords(
        pool=carried.pool,
        nodes=carried.nodes,
        opens=carried.opens,
        duration=carried.lasting,
        closes=carried.closes,
        because=carried.because,
    )
    what = carried.lease or carried.pool
    verb = action.partition(":")[0]
    match verb:
        case ButtonAction.OPEN | ButtonAction.ADD:
            return Understood(Word.OPEN, said, what, add=action == ButtonAction.ADD)
        case ButtonAction.EXTEND | ButtonAction.KEEP_UNTIL:
            return Understood(Word.EXTEND, said, what)
        case ButtonAction.CLOSE | ButtonAction.CONFIRM:
            return Understood(
                Word.CLOSE, said, what, confirmed=carried.confirmed or action == ButtonAction.CONFIRM
            )
        case ButtonAction.ASK:
            wanted = Word.EXTEND if carried.verb == Word.EXTEND else Word.OPEN
            return Understood(Word.ASK, said, what, add=carried.verb == ButtonAction.ADD, asks=wanted)
        case ButtonAction.APPROVE | ButtonAction.DECLINE:
            return Understood(Word(action), ask=carried.ask)
        case (
            ButtonAction.KEEP
            | ButtonAction.WHY
            | ButtonAction.TELL_ME
            | ButtonAction.TAKE
            | ButtonAction.BOOK
            | ButtonAction.MOVE
        ):
            return Understood(Word(verb), said, what, ask=carried.ask)
        case _:
            raise BadInput(reason("slack.unknown-button", button=action[:80]))


def _open(word: Word, rest: list[str], context: WordContext) -> Understood:
    pools = list(context.pools)
    return Understood(word, open_words(with_for(rest, pools), pools, context.now, context.zone))


def _extend(rest: list[str], context: WordContext) -> Understood:
    what, said = _how_long(rest, context)
    return Understood(Word.EXTEND, said, what)


def _close(rest: list[str], _place: WordContext) -> Understood:
    what, after = _first(rest)
    confirmed = [each.lower() for each in after[:1]] == ["yes"]
    because = reason_given(after[1:] if confirmed else after)
    return Understood(Word.CLOSE, OpenWords(because=because), what, confirmed=confirmed)


def _keep(rest: list[str], _place: WordContext) -> Understood:
    what, after = _first(rest)
    return Understood(Word.KEEP, OpenWords(because=reason_given(after)), what)


def _pause(rest: list[str], context: WordContext) -> Understood:
    return Understood(Word.PAUSE, pause_words(rest, context.now, context.zone))


def _resume(rest: list[str], _place: WordContext) -> Understood:
    return Understood(Word.RESUME, OpenWords(because=reason_given(rest)))


def _how_long(rest: list[str], context: WordContext) -> tuple[str | None, OpenWords]:
    """As `extend_words`; without words it is the usual length."""
    if not rest:
        return None, OpenWords()
    if len(rest) == 1 and rest[0] in context.pools:
        return rest[0], OpenWords()
    if rest[0].lower() == "because":
        return None, OpenWords(because=reason_given(rest))
    return extend_words(rest, context.now, context.zone)


def _window(word: Word, rest: list[str], context: WordContext) -> Understood:
    if rest:
        date, because = date_and_reason(rest[1:])
        return Understood(word, OpenWords(because=because), window=rest[0], date=date)
    if len(context.windows) == 1:
        return Understood(word, window=context.windows[0])
    if not context.windows:
        raise BadInput(reason("slack.no-windows"))
    raise BadInput(reason("slack.which-window", word=word.value, windows=tuple(context.windows)))


def _first(rest: list[str]) -> tuple[str | None, list[str]]:
    """`[POOL|LEASE]` and what follows it."""
    if rest and rest[0].lower() not in ("because", "yes"):
        return rest[0], rest[1:]
    return None, rest


_READS: Mapping[Word, Callable[[list[str], WordContext], Understood]] = {
    Word.OPEN: partial(_open, Word.OPEN),
    Word.FREE: partial(_open, Word.FREE),
    Word.EXTEND: _extend,
    Word.CLOSE: _close,
    Word.KEEP: _keep,
    Word.SKIP: partial(_window, Word.SKIP),
    Word.UNSKIP: partial(_window, Word.UNSKIP),
    Word.PAUSE: _pause,
    Word.RESUME: _resume,
}
