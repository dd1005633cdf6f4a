"""A request on the lab's bus: who asks, as the bus's policy let them in, and what for.

The source of an event says which entry of `events.allow` it belongs to: the policy lets only the principals of an entry
put events of its source. The detail never says who asks. orders.py in this folder makes the command.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from lamplighter.domain.commands import body_keys
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.meant import pool_meant
from lamplighter.domain.commands.orders import EXPIRES_AFTER
from lamplighter.errors import BadInput, Refused
from lamplighter.lab.events import EventEntry
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

VERBS = (Verb.OPEN, Verb.EXTEND, Verb.CLOSE)
"""What an event may ask for: each is a detail-type."""
MOST_BYTES = 16 * 1024
"""Of a detail as JSON; EventBridge takes far more."""
LONGEST_TOKEN = 100
AHEAD = timedelta(minutes=5)
"""How far the clock of who puts an event may go ahead: `Time` is theirs to write."""
KEYS: Mapping[Verb, tuple[str, ...]] = {
    Verb.OPEN: ("pool", "nodes", "for_seconds", "until", "because", "token"),
    Verb.EXTEND: ("pool", "for_seconds", "until", "because", "token"),
    Verb.CLOSE: ("pool", "because", "token"),
}
"""The keys that a detail may have."""
_POOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
"""EventBridge gives UUIDs. A workflow's run has the id as its name, which takes no other characters."""


@dataclass(frozen=True, slots=True)
class EventRequest:
    """One request that an entry may make."""

    event: str
    """The id that EventBridge gave the event."""
    entry: str
    """The name in `events.allow`."""
    source: str
    verb: Verb
    pool: str
    issued: datetime
    """When the event was put, by its own time."""
    token: str | None = None
    """What the sender calls this piece of work: open, extend and close of one piece have the same token."""
    nodes: int | None = None
    lasting: timedelta | None = None
    until: datetime | None = None
    because: str | None = None

    def command_id(self, verb: Verb | None = None) -> str:
        """The id of the command; with a token the same source, pool, token and verb always give the same id."""
        if self.token is None:
            return self.event
        known = hashlib.sha256(f"{self.source} {self.pool} {self.token}".encode()).hexdigest()[:16]
        return f"event-{verb or self.verb}-{known}"

    def in_time(self, now: datetime) -> Self:
        """The request as put at its own time, or now where its clock goes ahead.

        Raises Refused where it comes too late, or from a clock that is too far ahead.
        """
        if now - self.issued > EXPIRES_AFTER:
            raise Refused(reason("command.event.too-old", put=self.issued, came=now, within=EXPIRES_AFTER))
        if self.issued - now > AHEAD:
            raise Refused(reason("command.event.ahead", put=self.issued, came=now, within=AHEAD))
        return replace(self, issued=min(self.issued, now))


def read(event: Mapping[str, object], lab: Lab, now: datetime) -> EventRequest:
    """The request of an event in EventBridge's form, in time.

    Raises BadInput, which names the key that is wrong, and Refused where the entry may not ask for it, or not any more.
    """
    return of_any_age(event, lab).in_time(now)


def of_any_age(event: Mapping[str, object], lab: Lab) -> EventRequest:
    """The same for an event that was let in before, and comes again."""
    entry, allowed = _entry(event, lab)
    verb = _verb(event.get("detail-type"), entry, allowed)
    issued = _issued(event.get("time"))
    detail = event.get("detail")
    if not isinstance(detail, Mapping):
        raise BadInput(reason("command.event.no-detail"))
    unknown = next((key for key in detail if key not in KEYS[verb]), None)
    if unknown is not None:
        keys = ", ".join(KEYS[verb])
        raise BadInput(
            reason("command.unknown-key", key=body_keys.shown(unknown), verb=verb.value, keys=keys)
        )
    lasting, until = body_keys.lasting(detail), body_keys.instant_of(detail, "until")
    if lasting is not None and until is not None:
        raise BadInput(reason("command.event.for-and-until"))
    return EventRequest(
        event=event_id(event),
        entry=entry,
        source=allowed.source,
        verb=verb,
        pool=_pool(body_keys.text(detail, "pool"), entry, allowed, lab.pools),
        issued=issued,
        token=body_keys.text(detail, "token", LONGEST_TOKEN),
        nodes=body_keys.nodes(detail),
        lasting=lasting,
        until=until,
        because=body_keys.text(detail, "because", body_keys.LONGEST_TEXT),
    )


@dataclass(frozen=True, slots=True)
class Named:
    """The pool and owner of a request, as far as it names them: a refusal repeats them, so that rules can filter."""

    pool: str | None = None
    owner: str | None = None


def named(event: object, lab: Lab) -> Named:
    """The pool that an event names or can only mean, and the owner of its entry. Never fails."""
    if not isinstance(event, Mapping) or lab.events is None:
        return Named()
    try:
        entry, allowed = _entry(event, lab)
    except Refused:
        return Named()
    detail = event.get("detail")
    pool = detail.get("pool") if isinstance(detail, Mapping) else None
    if pool is None:
        usable = [name for name in lab.pools if allowed.pools is None or name in allowed.pools]
        pool = usable[0] if len(usable) == 1 else None
    written = isinstance(pool, str) and _POOL_NAME.fullmatch(pool)
    return Named(pool if written else None, lab.events.owner_of(entry))


def event_id(event: Mapping[str, object]) -> str:
    """The id of an event; BadInput for an event that EventBridge did not make."""
    found = event.get("id")
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise BadInput(reason("command.event.no-id"))
    return found


def _entry(event: Mapping[str, object], lab: Lab) -> tuple[str, EventEntry]:
    """The entry of the event's source, from an account of its principals."""
    source = str(event.get("source"))
    name = lab.events.entry_of(source) if lab.events else None
    if lab.events is None or name is None:
        raise Refused(reason("command.event.source-unknown", source=body_keys.shown(source)))
    entry, account = lab.events.allow[name], str(event.get("account"))
    if account not in {principal.split(":")[4] for principal in entry.principals}:
        raise Refused(
            reason("command.event.account-not-allowed", account=body_keys.shown(account), entry=name)
        )
    return name, entry


def _verb(detail_type: object, entry: str, allowed: EventEntry) -> Verb:
    known = [verb.value for verb in VERBS]
    if detail_type not in known:
        value = repr(str(detail_type)[:80])
        raise BadInput(reason("command.not-one-of", key="detail-type", value=value, known=", ".join(known)))
    if detail_type not in allowed.may:
        may = ", ".join(allowed.may)
        raise Refused(reason("command.event.verb-not-allowed", entry=entry, verb=str(detail_type), may=may))
    return Verb(str(detail_type))


def _issued(time: object) -> datetime:
    """The event's own time."""
    try:
        issued = instant.read(time if isinstance(time, str) else "")
    except BadInput:
        raise BadInput(reason("command.event.no-time")) from None
    if not body_keys.FIRST <= issued < body_keys.LAST:
        raise BadInput(reason("command.event.no-time"))
    return issued


def _pool(named: str | None, entry: str, allowed: EventEntry, pools: Collection[str]) -> str:
    """The named pool, or the only one that the entry may use."""
    usable = [pool for pool in pools if allowed.pools is None or pool in allowed.pools]
    if named in pools and named not in usable:
        raise Refused(
            reason("command.event.pool-not-allowed", entry=entry, pool=named or "", pools=", ".join(usable))
        )
    return pool_meant(named, usable)
