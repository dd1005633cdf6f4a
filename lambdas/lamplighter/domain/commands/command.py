"""Commands of a schedule, a person, an event or the guard for a pool, and when a command is too old.

Owns the document that starts a workflow, its expiry and its generation check. grant.py decides whether a valid
command is granted.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import MovedLease
from lamplighter.errors import BadInput
from lamplighter.reasons.document import read
from lamplighter.reasons.fields import KEY, from_document, to_document
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant


class Verb(StrEnum):
    """What a command does with a pool, or with the lab's calendar."""

    OPEN = "open"
    CLOSE = "close"
    EXTEND = "extend"
    SKIP = "skip"
    UNSKIP = "unskip"
    PAUSE = "pause"
    RESUME = "resume"
    ARM = "arm"
    WATCH = "watch"
    ACK = "ack"
    KEEP = "keep"
    EXPERIMENT = "experiment"
    RESTORE = "restore"


CHANGES_TO_THE_CALENDAR = frozenset({Verb.SKIP, Verb.UNSKIP, Verb.PAUSE, Verb.RESUME})
WHOLE_LAB = "*"
"""The `pool` of a command about all pools; no pool has that name."""
SOURCES = frozenset({"window", "slack", "cli", "event", "guard"})


@dataclass(frozen=True, slots=True)
class Command:
    """One command as it was given; `generation` is the pool's at that time, if it matters.

    Its document has the keys in this order. A schedule has the document as text, so another order is another schedule.
    """

    id: str
    verb: Verb
    pool: str
    lease: str | None = field(default=None, kw_only=True)
    nodes: int | None = field(default=None, kw_only=True)
    opens: datetime | None = field(default=None, kw_only=True)
    closes: datetime | None = field(default=None, kw_only=True)
    lasting: timedelta | None = field(default=None, kw_only=True, metadata={KEY: "for_seconds"})
    owner: str
    by: str
    source: str
    window: str | None = field(default=None, kw_only=True)
    date: str | None = field(default=None, kw_only=True)
    because: Said | None = field(default=None, kw_only=True)
    issued: datetime
    expires: datetime
    generation: int | None = None
    add: bool = False
    opened_by: str | None = None
    """For a close after a failure: the id of the open command whose lease it closes."""
    experiment: str | None = None
    """The experiment to run, by name. For a restore: the run, by name or id; None means the run under way."""
    for_lab: bool = False
    """A person who runs the lab gave it: it may change leases of others."""
    allowance: Allowance | None = None
    """What the giver's role allows; None: the giver has no role."""
    moved_from: MovedLease | None = None
    """Of an open: the lease of another pool whose place it takes."""

    @property
    def length(self) -> timedelta | None:
        """How long a lease it asks for; None where it does not say."""
        asked = self.closes - (self.opens or self.issued) if self.closes else None
        return self.lasting or asked

    @property
    def lease_id(self) -> str:
        """The lease of an open command: the window's, or one whose id follows from the command's id.

        The same command always means the same lease, however often it is delivered.
        """
        if self.lease:
            return self.lease
        return f"{self.source}-{hashlib.sha256(self.id.encode()).hexdigest()[:8]}"

    def too_old(self, now: datetime, generation: int) -> Said | None:
        """Why this command is no longer valid, or None while it is valid."""
        whole = self.pool == WHOLE_LAB
        what = reason("command.lab") if whole else reason("command.pool", pool=self.pool)
        verb = self.verb.value
        if now >= self.expires:
            return reason("command.expired", verb=verb, what=what, until=self.expires, came=now)
        if self.generation is not None and self.generation != generation:
            return reason("command.stale", verb=verb, what=what, given=self.generation, state=generation)
        return None

    def to_json(self) -> dict[str, object]:
        """The document that starts a workflow."""
        return to_document(self)

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "Command":
        """Reads a command; BadInput names the key that is missing or wrong."""
        verb = _required(found, "verb")
        if verb not in set(Verb):
            raise BadInput(
                reason("command.not-one-of", key="verb", value=repr(verb[:80]), known=", ".join(Verb))
            )
        source = _required(found, "source")
        if source not in SOURCES:
            known = ", ".join(sorted(SOURCES))
            raise BadInput(reason("command.not-one-of", key="source", value=repr(source[:80]), known=known))
        seconds, allowed, moved = (
            _number(found, "for_seconds"),
            found.get("allowance"),
            found.get("moved_from"),
        )
        return cls(
            id=_required(found, "id"),
            verb=Verb(verb),
            pool=_required(found, "pool"),
            owner=_required(found, "owner"),
            by=_required(found, "by"),
            source=source,
            issued=instant.read(_required(found, "issued")),
            expires=instant.read(_required(found, "expires")),
            lease=_text(found, "lease"),
            nodes=_number(found, "nodes"),
            opens=_instant(found, "opens"),
            closes=_instant(found, "closes"),
            lasting=None if seconds is None else timedelta(seconds=seconds),
            window=_text(found, "window"),
            date=_text(found, "date"),
            because=_said(found, "because"),
            generation=_number(found, "generation", least=0),
            add=found.get("add") is True,
            opened_by=_text(found, "opened_by"),
            experiment=_text(found, "experiment"),
            for_lab=found.get("for_lab") is True,
            allowance=from_document(Allowance, allowed) if isinstance(allowed, Mapping) else None,
            moved_from=from_document(MovedLease, moved) if isinstance(moved, Mapping) else None,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """The stored answer to a command; the same command gets it again."""

    command: str
    outcome: str
    """granted, already-open or refused; extended or refused; closing or over; the outcome of a change."""
    reason: Said
    at: datetime
    lease: str | None = None
    """The lease that it granted or changed; a command that undoes this one ends that lease."""
    earliest: datetime | None = None
    about: str | None = None
    """A lease that the answer is about and that the command did not create, such as one that is open already."""

    @property
    def granted(self) -> str | None:
        """The lease that it granted; `lease` in an answer of an earlier release may be another's."""
        return self.lease if self.outcome == "granted" else None

    def to_json(self) -> dict[str, object]:
        """What the command line and Slack read back."""
        return to_document(self)

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> "Decision":
        """Reads what to_json wrote."""
        return from_document(cls, found)


def _required(found: Mapping[str, object], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not value:
        raise BadInput(reason("command.key-missing", key=key))
    return value


def _text(found: Mapping[str, object], key: str) -> str | None:
    value = found.get(key)
    if value is None or isinstance(value, str):
        return value or None
    raise BadInput(reason("command.not-text", key=key, value=repr(str(value)[:80])))


def _said(found: Mapping[str, object], key: str) -> Said | None:
    """A string is a person's words; a reason is a mapping."""
    value = found.get(key)
    return read(value) if isinstance(value, Mapping) else _text(found, key)


def _number(found: Mapping[str, object], key: str, least: int = 1) -> int | None:
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(reason("command.not-a-number", key=key, least=least, value=repr(str(value)[:80])))
    return value


def _instant(found: Mapping[str, object], key: str) -> datetime | None:
    text = _text(found, key)
    return None if text is None else instant.read(text)
