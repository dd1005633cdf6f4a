"""Decisions as a person reads them in English: a test then compares the sentence, not its code and values."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, Sentences, draw

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Decided = TypeVar("Decided", bound="DataclassInstance")


def drawn(decided: Decided, zone: str = "Etc/UTC") -> Decided:
    """The same with every reason drawn by the clock of a zone."""
    return drawn_by(clock_of(ZoneInfo(zone)), decided)


def drawn_by(clock: Callable[[datetime], str], decided: Decided) -> Decided:
    """The same with every reason drawn by a clock."""
    said = {field.name: getattr(decided, field.name) for field in fields(decided)}
    told = {
        name: draw(value, ENGLISH, clock)
        for name, value in said.items()
        if isinstance(value, Reason | Sentences)
    }
    return replace(decided, **told)


def english(said: Said | None, zone: str = "Etc/UTC") -> str:
    """A reason by the clock of a zone."""
    return draw(said, ENGLISH, clock_of(ZoneInfo(zone)))


def sentence(kept: object, zone: str = "Asia/Seoul") -> str:
    """A reason as the steps of a workflow and the ledger keep it, by the clock of a zone."""
    return draw(read(kept), ENGLISH, clock_of(ZoneInfo(zone)))
