"""People's changes of the calendar in the ledger: skips, pauses, and the mark of a last close.

Each change is written with its decision and audit entries in one transaction. The domain decides.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import GRANTED, LeaseState
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.fields import from_document, to_document
from lamplighter.values import instant

if TYPE_CHECKING:
    from lamplighter.domain.doctor.readiness import Readiness

KEEP_PAST = timedelta(days=45)
_NOBODY_HAS_IT = "attribute_not_exists(pk) OR #state = :planned"


class LedgerCalendar(LedgerChanges):
    """The calendar's part of the ledger of one lab."""

    def skips(self) -> list[Skip]:
        """The dates that people took out of the calendar, by window."""
        found = self._table.query(items.LAB, items.SKIP, items.SKIP + "\U0010ffff")
        return [_skip(item) for item in found]

    def skipped(self, window: str, on: str) -> Skip | None:
        """The skip of one date of a window, or None."""
        found = self._table.get(items.LAB, f"{items.SKIP}{window}#{on}")
        return None if found is None else _skip(found)

    def skip(
        self, skip: Skip, lease: tuple[str, str], decided_for: str, decision: Decision, why: Entry
    ) -> None:
        """Takes a date out of the calendar, and deletes its planned lease (pool, id).

        The decision is found under `decided_for`, the pool that the command named.

        Conflict when that lease has been granted meanwhile, or the date was skipped before.
        """
        pool, lease_id = lease
        until = datetime.combine(date.fromisoformat(skip.date), datetime.min.time(), skip.at.tzinfo)
        sort_key = f"{items.SKIP}{skip.window}#{skip.date}"
        item = items.item(items.LAB, sort_key, to_document(skip), until=until + KEEP_PAST)
        self._table.transact(
            [
                self._table.put_in_transaction(item, "attribute_not_exists(pk)"),
                self._table.delete_in_transaction(
                    items.pool_key(pool),
                    items.LEASE + lease_id,
                    _NOBODY_HAS_IT,
                    planned=LeaseState.PLANNED.value,
                ),
                self._decided(decided_for, decision),
                self._entry(why),
            ]
        )

    def unskip(self, skip: Skip, decided_for: str, decision: Decision, why: Entry) -> None:
        """Puts a date back into the calendar. Raises Conflict if somebody did so before."""
        self._table.transact(
            [
                self._table.delete_in_transaction(
                    items.LAB, f"{items.SKIP}{skip.window}#{skip.date}", "attribute_exists(pk)"
                ),
                self._decided(decided_for, decision),
                self._entry(why),
            ]
        )

    def pauses(self) -> list[Pause]:
        """The pauses that keep pools closed: a person's, and that of a destroy; past ones too."""
        found = self._table.query(items.LAB, items.PAUSE, items.PAUSE + "\U0010ffff")
        return [_pause(str(item["sk"]["S"]), items.values(item)) for item in found]

    def skips_and_pauses(self) -> tuple[list[Skip], list[Pause]]:
        """Both in one read: in the lab's partition only a few small items of other kinds lie between them."""
        found = list(self._table.query(items.LAB, items.PAUSE, items.SKIP + "\U0010ffff"))
        keyed = [(str(item["sk"]["S"]), item) for item in found]
        return (
            [_skip(item) for key, item in keyed if key.startswith(items.SKIP)],
            [_pause(key, items.values(item)) for key, item in keyed if key.startswith(items.PAUSE)],
        )

    def pause(self, pause: Pause, pool: str, decision: Decision, why: Sequence[Entry]) -> None:
        """From now on nothing opens. It replaces an earlier pause of a person."""
        self._table.transact(
            [
                self._table.put_in_transaction(_pause_item(items.BY_PEOPLE, pause)),
                self._decided(pool, decision),
                *map(self._entry, why),
            ]
        )

    def resume(self, ended: Sequence[Pause], pool: str, decision: Decision, why: Sequence[Entry]) -> None:
        """Ends these pauses. Raises Conflict if one of them no longer exists or was replaced."""
        self._table.transact(
            [
                *(
                    self._table.delete_in_transaction(
                        items.LAB,
                        items.BY_DESTROY if pause.closing else items.BY_PEOPLE,
                        "#at = :at",
                        at=instant.written(pause.at),
                    )
                    for pause in ended
                ),
                self._decided(pool, decision),
                *map(self._entry, why),
            ]
        )

    def begin_last_close(self, by: str, at: datetime) -> None:
        """The lab is being destroyed: nothing opens until it is deployed again."""
        self._table.put(_pause_item(items.BY_DESTROY, Pause(by, at, closing=True)))

    def last_close_failed(self, by: str, at: datetime) -> None:
        """The destroy failed: nothing opens until the lab is deployed, or somebody resumes it."""
        self._table.put(_pause_item(items.BY_DESTROY, Pause(by, at, closing=True, failed=True)))

    def end_last_close(self) -> None:
        """The lab is deployed again: pools that a destroy kept closed may open."""
        self._table.delete(items.LAB, items.BY_DESTROY)

    def opened_by(self, pool: str, lease_id: str, run: str) -> None:
        """Another run opens a granted lease late, after a pause or a lost schedule."""
        with suppress(Conflict):  # nobody opens it any more, or its nodes are ordered
            self._table.update(
                items.pool_key(pool),
                items.LEASE + lease_id,
                "SET #run = :run",
                "#state = :admitted",
                run=run,
                admitted=LeaseState.ADMITTED.value,
            )

    def carried_on_by(self, pool: str, lease_id: str, run: str) -> None:
        """The run that opened a lease has handed it on to this one, which the guard watches from now on."""
        with suppress(Conflict):  # it is being closed
            self._table.update(
                items.pool_key(pool),
                items.LEASE + lease_id,
                "SET #run = :run",
                "#state IN (:admitted, :opening, :open)",
                run=run,
                **{state.value: state.value for state in GRANTED},
            )

    def keep_readiness(self, readiness: "Readiness") -> None:
        """Keeps what a check before a window found, unless a later check is there. The doctor's function calls it."""
        until = readiness.opens + items.KEEP_CLOSED
        kept = to_document(readiness, items.MILLISECONDS)
        with suppress(Conflict):
            self._table.put(
                items.item(items.LAB, items.LOOK + readiness.lease, kept, until=until),
                "attribute_not_exists(pk) OR #at < :at",
                at=items.milliseconds(readiness.at),
            )

    def readiness(self, lease_id: str) -> "Readiness | None":
        """What the last check before a window found; None where there was none."""
        found = self._table.get(items.LAB, items.LOOK + lease_id)
        return None if found is None else _readiness(found)

    def readinesses(self) -> "dict[str, Readiness]":
        """The same of every window and date, by lease."""
        found = self._table.query(items.LAB, items.LOOK, items.LOOK + "\U0010ffff")
        return {one.lease: one for one in map(_readiness, found) if one is not None}

    def planned_at(self) -> datetime | None:
        """When the planner last began to check the schedules, or None."""
        found = self._table.get(items.LAB, items.PLANNED)
        return None if found is None else instant.read(str(items.values(found)["at"]))

    def note_planned(self, at: datetime) -> None:
        """The planner began at `at` to check every schedule, and has corrected them."""
        self._table.put(items.item(items.LAB, items.PLANNED, {"at": instant.written(at)}))


def _readiness(found: Mapping[str, Any]) -> "Readiness | None":
    """A result; None where it cannot be read, as of a later release: then it is not known."""
    from lamplighter.domain.doctor.readiness import Readiness  # noqa: PLC0415 -- few functions read one

    try:
        return from_document(Readiness, items.values(found), items.MILLISECONDS)
    except (KeyError, TypeError, ValueError, OutsideFailed):
        return None


def _skip(found: Mapping[str, Any]) -> Skip:
    """A skip. Where its item cannot be read, its key says which date it is: a strange item skips no other window."""
    try:
        return from_document(Skip, items.values(found))
    except (KeyError, TypeError, ValueError, OutsideFailed):
        key: str = found["sk"]["S"]
        window, _, on = key.removeprefix(items.SKIP).rpartition("#")
        return Skip(window, on, "?", datetime.fromtimestamp(0, UTC))


def _pause(sort_key: str, kept: dict[str, items.Value]) -> Pause:
    return from_document(Pause, {**kept, "closing": sort_key == items.BY_DESTROY})


def _pause_item(sort_key: str, pause: Pause) -> items.Item:
    ends = items.milliseconds(pause.until) if pause.until else None
    # Left out where it is false; the key of the item tells `closing`.
    kept = to_document(pause) | {"ends": ends, "failed": pause.failed or None, "closing": None}
    return items.item(items.LAB, sort_key, kept, until=pause.until + KEEP_PAST if pause.until else None)
