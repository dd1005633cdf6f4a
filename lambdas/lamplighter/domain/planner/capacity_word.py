"""Whether AWS will probably have a pool's nodes at a window: a word with its evidence, never more than that.

From strong to weak: a reservation that is active; that AWS refuses the pool's nodes now; the pool's own receipts of
this time of day. A price, a quota and a dry run say nothing about capacity, and the Spot placement score of one or two
types is always low, so none of them is read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.reservation import ReservedHours
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.progress import Stage
from lamplighter.domain.leases.terms import Terms
from lamplighter.reasons.reason import Reason, Value, in_english, reason
from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

SOON = timedelta(hours=1)
"""A refusal now says something about a window that opens within this time."""
NEAR = timedelta(hours=2)
"""Openings whose time of day is so near count: a class in the evening says nothing about the morning."""
RECENT = timedelta(weeks=8)
"""Older openings do not count. A weekly class has eight of them in this time."""
LAST = 10
ENOUGH = 3
"""With fewer openings the word is *unknown*: two evenings may be chance."""
LIKELY = 4, 5
"""*likely* asks for this share of openings with all nodes: all of three or four, all but one of five. *unlikely* stands
where fewer than half had all nodes. Between the two neither word holds."""
_SATURDAY = 5


class CapacityWord(StrEnum):
    """What the evidence allows to say."""

    HELD = "held"
    """A reservation is active."""
    OFFERED = "offered"
    """Somebody sells it."""
    LIKELY = "likely"
    UNLIKELY = "unlikely"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CapacityOutlook:
    """The word, its evidence, and the date of the evidence; None where there is none."""

    word: CapacityWord
    evidence: Reason
    at: datetime | None

    @property
    def said(self) -> Reason:
        """The word with its evidence."""
        return reason("capacity.outlook", word=reason(f"capacity.word.{self.word}"), evidence=self.evidence)

    def to_json(self) -> dict[str, JsonValue]:
        """As the contract has it, in English."""
        at = None if self.at is None else instant.written(self.at)
        return {"word": self.word.value, "evidence": [in_english(self.evidence)], "at": at}


@dataclass(frozen=True, slots=True)
class Opening:
    """An earlier opening of a pool for which AWS was asked for nodes."""

    at: datetime
    whole: bool
    """Whether AWS had all its nodes at once."""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """What is known of a pool's capacity at an instant."""

    openings: tuple[Opening, ...]
    zone: ZoneInfo
    """The clock that the time of day is read from."""
    now: datetime
    refused: bool = False
    """Whether AWS keeps back nodes of the pool now."""
    hours: ReservedHours | None = None
    """The hours of the reservation that the pool is bought from."""

    def outlook(self, opens: datetime) -> CapacityOutlook:
        """The word for a window that opens at an instant."""
        if self.hours and self.hours.has_nodes_at(opens):
            held = reason("capacity.outlook.held", reservation=self.hours.id)
            return CapacityOutlook(CapacityWord.HELD, held, self.now)
        if self.refused and opens - self.now <= SOON:
            return CapacityOutlook(CapacityWord.UNLIKELY, reason("capacity.outlook.refused"), self.now)
        like = [opening for opening in self.openings if self._is_like(opening, opens)]
        like = sorted(like, key=lambda opening: opening.at, reverse=True)[:LAST]
        if len(like) < ENOUGH:
            few = reason("capacity.outlook.few", count=len(like), enough=ENOUGH)
            return CapacityOutlook(CapacityWord.UNKNOWN, few, like[0].at if like else None)
        whole = sum(opening.whole for opening in like)
        days = "weekends" if self._is_weekend(opens) else "weekdays"
        last = like[0].at.astimezone(self.zone).date()
        shown: dict[str, Value] = {
            "count": len(like),
            "days": reason(f"capacity.outlook.{days}"),
            "last": last,
        }
        if 2 * whole < len(like):
            short = reason("capacity.outlook.short", short=len(like) - whole, **shown)
            return CapacityOutlook(CapacityWord.UNLIKELY, short, like[0].at)
        part, of = LIKELY
        word = CapacityWord.LIKELY if whole * of >= part * len(like) else CapacityWord.UNKNOWN
        return CapacityOutlook(word, reason("capacity.outlook.whole", whole=whole, **shown), like[0].at)

    def _is_like(self, opening: Opening, opens: datetime) -> bool:
        """Whether it was lately, on the same kind of day and near the same time of day."""
        if self.now - opening.at > RECENT or self._is_weekend(opening.at) is not self._is_weekend(opens):
            return False
        apart = abs(self._time_of_day(opening.at) - self._time_of_day(opens))
        return min(apart, timedelta(days=1) - apart) <= NEAR

    def _is_weekend(self, at: datetime) -> bool:
        return at.astimezone(self.zone).weekday() >= _SATURDAY

    def _time_of_day(self, at: datetime) -> timedelta:
        here = at.astimezone(self.zone)
        return timedelta(hours=here.hour, minutes=here.minute)


def record(
    receipts: Iterable[Mapping[str, object]],
    leases: Iterable[Lease],
    terms: Terms | None,
    zone: ZoneInfo,
    now: datetime,
) -> PoolRecord:
    """The record of a pool from its receipts and leases; without terms its types are not known, and none counts."""
    refused = any(lease.missing and lease.in_force(now) for lease in leases)
    found = openings(receipts, terms.instance_types) if terms else ()
    return PoolRecord(found, zone, now, refused=refused, hours=terms.hours if terms else None)


def openings(
    receipts: Iterable[Mapping[str, object]], instance_types: tuple[str, ...]
) -> tuple[Opening, ...]:
    """The openings of a pool's receipts in which AWS was asked for nodes of these types.

    A lease that took over running nodes shows nothing, nor does one that ended before its nodes came, or that lacked
    them for a quota. Receipts of an earlier release name no types.
    """
    found = []
    for receipt in receipts:
        opened, types = receipt.get("opened"), receipt.get("instance_types")
        if not opened or not isinstance(types, list) or tuple(types) != instance_types:
            continue
        causes = {row.get("cause") for row in _rows(receipt.get("findings"))}
        short = LaunchCause.NO_CAPACITY in causes
        started = any(str(row.get("from", "")) >= str(opened) for row in _rows(receipt.get("node_lives")))
        stages = receipt.get("stages")
        came = started and isinstance(stages, Mapping) and Stage.NODES in stages
        if short or came:
            found.append(Opening(instant.read(str(opened)), whole=not short))
    return tuple(found)


def _rows(found: object) -> list[Mapping[str, object]]:
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
