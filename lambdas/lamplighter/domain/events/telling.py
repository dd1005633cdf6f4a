"""Which events the lab tells: of what its audit trail says happened, and in answer to requests on the bus."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import TypedDict

from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.available import Available
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.commands.orders import EXPIRES_AFTER
from lamplighter.domain.events import lab_event as events
from lamplighter.domain.events.asked import AskedByEvent
from lamplighter.domain.events.lab_event import EventReason, LabEvent
from lamplighter.domain.events.orders import is_giver
from lamplighter.domain.leases.lease import Lease, MovedLease
from lamplighter.domain.leases.occupancy import taken_at
from lamplighter.reasons.reason import Clock, Reason, Said, reason
from lamplighter.values import instant

MOST_FAILED = 20
"""So many checks that did not pass a verdict names; the counts say how many there are."""
_ANSWERED = frozenset({"lease-granted", "refused", "extended", "shortened", "closing"})
"""Kinds of entries that answer a request: the answer goes to each event that asked, and so not by the trail."""


class About(TypedDict):
    """What every event says, by the names of LabEvent."""

    lab: str
    pool: str | None
    at: datetime
    reason: EventReason
    lease: str | None
    owner: str | None
    in_reply_to: str | None


@dataclass(frozen=True)
class Known:
    """What events are made with, beside the entry itself."""

    lab: str
    texts: Texts
    clock: Clock
    leases: Mapping[str, Lease] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict)
    """The event that opened a lease, by lease."""
    receipt: Callable[[Lease], Mapping[str, object] | None] = lambda _: None
    """The receipt of a closed lease."""

    def reason(self, said: Said) -> EventReason:
        """A reason, drawn for the lab."""
        return EventReason.of(said, self.texts, self.clock)


ALL_WRITTEN = timedelta(minutes=2)
"""After so long no more verdicts of one run of the checks are on the way."""


@dataclass(frozen=True)
class Told:
    """An event, and the entries of the trail that it tells, by their keys."""

    keys: tuple[str, ...]
    events: tuple[LabEvent, ...]
    """Empty for entries that no event tells; one for each lease that a close of the whole pool ends."""


def of_trail(entries: Sequence[tuple[str, Entry]], known: Known) -> list[Told]:
    """The events of these entries, in their order; the verdicts of one run of the checks are one event."""

    def together(row: tuple[str, Entry]) -> tuple[object, ...]:
        key, entry = row
        return ("verdict", entry.lease, entry.at) if entry.kind == "verdict" else (key,)

    told = []
    for _, group in groupby(entries, together):
        rows = list(group)
        happened = _each_lease([entry for _, entry in rows])
        events_of_it = (_event(entries_of_lease, known) for entries_of_lease in happened)
        told.append(Told(tuple(key for key, _ in rows), tuple(event for event in events_of_it if event)))
    return told


def _each_lease(entries: Sequence[Entry]) -> list[Sequence[Entry]]:
    """A close of a whole pool is one entry, and ends several leases."""
    named = entries[0].details.get("leases")
    if entries[0].kind != "closing" or not named:
        return [entries]
    return [[replace(entries[0], lease=lease)] for lease in named.split(",")]


def is_told(entry: Entry) -> bool:
    """Whether an event may tell it."""
    return entry.kind in _TELLS


def unfinished(entries: Sequence[tuple[str, Entry]], now: datetime) -> frozenset[str]:
    """The verdicts of which more may be on the way: they are written in parts, and the notice comes after them all."""
    announced = {entry.lease for _, entry in entries if entry.kind == "announced"}
    return frozenset(
        key
        for key, entry in entries
        if entry.kind == "verdict" and entry.lease not in announced and now - entry.at < ALL_WRITTEN
    )


def of_answer(
    asked: AskedByEvent, decision: Decision | None, lease: Lease | None, known: Known, now: datetime
) -> LabEvent | None:
    """The answer to one request; None while it is not decided yet."""
    if decision is None and not asked.undecided(now):
        return None
    outcome, why = _outcome(asked, decision, lease)
    about = About(
        lab=known.lab,
        pool=asked.pool,
        at=decision.at if decision else now,
        reason=known.reason(why),
        lease=None if outcome == "refused" else asked.lease,
        owner=asked.owner,
        in_reply_to=asked.event,
    )
    match outcome:
        case "granted" if lease is not None:
            return events.LeaseGranted(**about, nodes=lease.nodes, opens=lease.opens, closes=lease.closes)
        case "extended" | "shortened":
            return events.Extended(**about, closes=lease.closes if lease else None)
        case "closing":
            return events.PoolClosing(**about)
        case _:
            return events.LeaseRefused(**about, earliest=decision.earliest if decision else None)


def _outcome(asked: AskedByEvent, decision: Decision | None, lease: Lease | None) -> tuple[str, Said]:
    """The outcome and its reason; an open that is put again after its lease ended is refused."""
    if decision is None:
        return "refused", reason("command.event.undecided", verb=asked.verb.value, pool=asked.pool)
    put_again = decision.at < asked.expires - EXPIRES_AFTER
    if decision.outcome == "granted" and put_again and lease is not None and not lease.granted:
        return "refused", reason("lease.opens-once", lease=lease.called(), state=lease.stands())
    return decision.outcome, decision.reason


def refusal(
    why: Said, known: Known, now: datetime, *, event: str, pool: str | None = None, owner: str | None = None
) -> LabEvent:
    """The answer to a request that gave no command."""
    return events.LeaseRefused(
        lab=known.lab, pool=pool, at=now, reason=known.reason(why), owner=owner, in_reply_to=event
    )


def _event(entries: Sequence[Entry], known: Known) -> LabEvent | None:
    entry = entries[0]
    tells = _TELLS.get(entry.kind)
    lease = known.leases.get(entry.lease or "")
    # No request asked for the grant of a lease that moved.
    moved = lease is not None and lease.moved_from is not None and entry.kind == "lease-granted"
    if tells is None or (entry.kind in _ANSWERED and is_giver(entry.who) and not moved):
        return None
    return tells(Happened(entries, lease, known))


@dataclass(frozen=True)
class Happened:
    """Entries of one thing that happened, and the lease that they name, as it is now."""

    entries: Sequence[Entry]
    lease: Lease | None
    known: Known

    @property
    def entry(self) -> Entry:
        return self.entries[0]

    @property
    def closes(self) -> datetime | None:
        return self.lease.closes if self.lease else None

    @property
    def nodes(self) -> int | None:
        return self.lease.nodes if self.lease else None

    @property
    def others(self) -> int:
        """The nodes that granted leases of the pool have at that moment."""
        granted = (lease for lease in self.known.leases.values() if lease.granted)
        return taken_at(granted, self.entry.at)

    def about(self, why: Said | None = None) -> About:
        entry = self.entry
        return About(
            lab=self.known.lab,
            pool=entry.pool,
            at=entry.at,
            reason=self.known.reason(why or entry.why or entry.what),
            lease=entry.lease,
            owner=self.lease.owner if self.lease else None,
            in_reply_to=self.known.replies.get(entry.lease or ""),
        )


def _granted(it: Happened) -> LabEvent | None:
    if it.lease is None:
        return None
    return events.LeaseGranted(
        **it.about(),
        nodes=it.lease.nodes,
        opens=it.lease.opens,
        closes=it.lease.closes,
        moved_from=_elsewhere(it.lease.moved_from),
    )


def _closing(it: Happened) -> LabEvent:
    return events.PoolClosing(**it.about(), moved_to=_elsewhere(it.lease.moved_to if it.lease else None))


def _elsewhere(moved: MovedLease | None) -> events.LeaseElsewhere | None:
    return None if moved is None else events.LeaseElsewhere(pool=moved.pool, lease=moved.lease)


def _announced(it: Happened) -> LabEvent | None:
    match it.entry.details.get("notice"):
        case "open":
            return events.PoolOpen(**it.about(), nodes=it.nodes, closes=it.closes)
        case "degraded" | "short" | "failed":
            cause = it.entry.details.get("cause")
            available = Available.from_details(it.entry.details) if cause else None
            return events.PoolDegraded(
                **it.about(), nodes=it.nodes, closes=it.closes, cause=cause, available=available
            )
        case _:
            return None


def _zero_proven(it: Happened) -> LabEvent | None:
    """Of a whole pool; where a lease is named, its close is told once it is settled."""
    return None if it.entry.lease else events.PoolClosed(**it.about(), nodes=it.entry.nodes or 0)


def _breach(it: Happened) -> LabEvent:
    details = it.entry.details
    return events.Breach(**it.about(), rule=details.get("rule"), action=details.get("action"))


def _verdict(it: Happened) -> LabEvent:
    rows = [
        (_value(each, "check"), _value(each, "node"), _value(each, "verdict"), each) for each in it.entries
    ]
    counts = tuple(
        events.CheckCount(
            check=check,
            passed=_count(rows, check, "passed"),
            failed=_count(rows, check, "failed"),
            not_proven=_count(rows, check, "not-proven"),
        )
        for check in dict.fromkeys(check for check, *_ in rows)
    )
    failed = tuple(
        events.FailedCheck(check=check, node=node, verdict=verdict, reason=it.known.reason(entry.why))
        for check, node, verdict, entry in rows
        if verdict != "passed"
    )
    what = reason("command.event.checks", checks=len(counts), failed=len(failed))
    return events.Verdict(**it.about(what), checks=counts, failed=failed[:MOST_FAILED])


def _count(rows: Iterable[tuple[str, str, str, Entry]], check: str, verdict: str) -> int:
    return sum(1 for named, _, found, _ in rows if (named, found) == (check, verdict))


def _value(entry: Entry, name: str) -> str:
    return str(entry.what.values.get(name, "")) if isinstance(entry.what, Reason) else ""


def _receipt(it: Happened) -> LabEvent:
    found = (it.known.receipt(it.lease) if it.lease else None) or _unleased(it.entry.details)
    cost, closed, seconds = found.get("cost"), found.get("closed"), found.get("node_seconds")
    return events.Receipt(
        **it.about(),
        nodes=it.nodes,
        node_seconds=seconds if isinstance(seconds, int) else 0,
        cost=events.Amount(amount=str(cost["amount"]), currency=str(cost["currency"]))
        if isinstance(cost, Mapping)
        else None,
        closed=instant.read(str(closed)) if closed else None,
    )


def _unleased(details: Mapping[str, str]) -> Mapping[str, object]:
    """The receipt of time without a lease, as its entry has it."""
    if "node_seconds" not in details:
        return {}
    cost = {name: details.get(name, "") for name in ("amount", "currency")}
    return {"cost": cost, "closed": details.get("closed"), "node_seconds": int(details["node_seconds"])}


_TELLS: Mapping[str, Callable[[Happened], LabEvent | None]] = {
    "lease-granted": _granted,
    "refused": lambda it: events.LeaseRefused(**it.about()),
    "announced": _announced,
    "warned": lambda it: events.Warned(**it.about(), closes=it.closes),
    "extended": lambda it: events.Extended(**it.about(), closes=it.closes),
    "shortened": lambda it: events.Extended(**it.about(), closes=it.closes),
    "closing": _closing,
    "closed": lambda it: events.PoolClosed(**it.about(), nodes=it.others),
    "zero-proven": _zero_proven,
    "breach": _breach,
    "leaked": lambda it: events.Leaked(**it.about(), rule=it.entry.details.get("rule")),
    "verdict": _verdict,
    "receipt": _receipt,
}
"""What is told of an entry, by its kind."""
