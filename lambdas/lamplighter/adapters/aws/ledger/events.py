"""What the ledger keeps for the lab's bus: requests that wait for an answer, and how far the lab has told its trail.

All of it is in partitions that begin with EVENT#. The functions of the bus write nothing else. All but the cursor
expires.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.adapters.border import border
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.events.asked import AskedByEvent
from lamplighter.domain.events.cursor import Cursor
from lamplighter.reasons.fields import from_document, to_document

EVENT = "EVENT#"
ASKED, OPENED, CLOSED, CURSOR = "ASKED#", "OPENED#", "CLOSED#", "CURSOR"
KEEP_ASKED = timedelta(days=14)
KEEP_OPENED = timedelta(days=45)
KEEP_CLOSED = timedelta(hours=1)
"""Longer than an open command is good for, by the clocks of both."""
_AFTER_ALL = "\U0010ffff"


@border
class LedgerEvents(LedgerReads):
    """The bus's part of the ledger."""

    def ask(self, asked: AskedByEvent, now: datetime) -> None:
        """Keeps a request until it is answered; the same event again is the same item."""
        until = now + KEEP_ASKED
        self._table.put(items.item(EVENT + asked.pool, ASKED + asked.event, to_document(asked), until=until))
        if asked.verb is Verb.OPEN and not asked.held:
            self._note_opening(asked, now)

    def _note_opening(self, asked: AskedByEvent, now: datetime) -> None:
        """Of several events with one token the first counts: its sender waits for it."""
        opened = items.item(
            EVENT + asked.pool, OPENED + asked.lease, {"event": asked.event}, until=now + KEEP_OPENED
        )
        with suppress(Conflict):
            self._table.put(opened, "attribute_not_exists(pk)")

    def asked(self, pool: str) -> list[AskedByEvent]:
        """The requests about a pool that wait for an answer."""
        found = self._table.query(EVENT + pool, ASKED, ASKED + _AFTER_ALL)
        return [from_document(AskedByEvent, items.values(item)) for item in found]

    def waiting(self, pool: str, event: str) -> AskedByEvent | None:
        """The request of this event, where it waits for an answer."""
        found = self._table.get(EVENT + pool, ASKED + event)
        return None if found is None else from_document(AskedByEvent, items.values(found))

    def forget(self, asked: AskedByEvent) -> None:
        """The request waits no more."""
        self._table.delete(EVENT + asked.pool, ASKED + asked.event)

    def opened_by(self, pool: str, lease: str) -> str | None:
        """The event that opened a lease."""
        found = self._table.get(EVENT + pool, OPENED + lease)
        return None if found is None else str(items.values(found)["event"])

    def note_close(self, pool: str, opening: str, now: datetime) -> None:
        """A close came for what this open command opens: a later open with that id opens nothing."""
        until = now + KEEP_CLOSED
        noted: Mapping[str, items.Value] = {"until": items.milliseconds(until)}
        self._table.put(items.item(EVENT + pool, CLOSED + opening, noted, until=until))

    def close_noted(self, pool: str, opening: str, now: datetime) -> bool:
        """Whether a close came within the last hour for what this open command opens.

        DynamoDB deletes what has expired within days, not at once.
        """
        found = self._table.get(EVENT + pool, CLOSED + opening)
        until = items.at_milliseconds(items.values(found).get("until")) if found else None
        return until is not None and now < until

    def cursor(self, pool: str) -> Cursor | None:
        """How far a pool's trail is told; None where nothing was told yet."""
        found = self._table.get(EVENT + pool, CURSOR)
        if found is None:
            return None
        said = items.values(found)
        until, keys, version = items.at_milliseconds(said["until"]), said.get("keys"), said["version"]
        if until is None or not isinstance(version, int):
            return None
        return Cursor(until, frozenset(map(str, keys)) if isinstance(keys, list) else frozenset(), version)

    def move_cursor(self, pool: str, cursor: Cursor) -> None:
        """Moves the cursor; Conflict where another run moved it since it was read."""
        said: Mapping[str, items.Value] = {
            "until": items.milliseconds(cursor.until),
            "keys": [*sorted(cursor.keys)],
            "version": cursor.version + 1,
        }
        self._table.put(
            items.item(EVENT + pool, CURSOR, said),
            "attribute_not_exists(pk) OR #version = :version",
            version=cursor.version,
        )

    def trail(self, pool: str, since: datetime) -> list[tuple[str, Entry]]:
        """What happened to the pool since an instant, oldest first, each entry with its own key."""
        first = items.AUDIT + items.sortable(since)
        found = self._table.query(items.pool_key(pool), first, items.AUDIT + _AFTER_ALL)
        return [(item["sk"]["S"], items.audit_entry(pool, item)) for item in found]
