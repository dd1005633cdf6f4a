"""The ledger: the one store of a lab. Access patterns: docs/reference/ledger.md.

Owns the lock of a pool and the small writes; reads are in reads.py, transactions in
changes.py, what people changed about the calendar in calendar.py. Every method says in its
name what it is for; nobody else writes to the table.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.calendar import LedgerCalendar
from lamplighter.adapters.aws.ledger.charges import LedgerCharges
from lamplighter.adapters.aws.ledger.courses import LedgerCourses
from lamplighter.adapters.aws.ledger.deploys import LedgerDeploys
from lamplighter.adapters.aws.ledger.experiments import LedgerExperiments
from lamplighter.adapters.aws.ledger.guard import LedgerGuard
from lamplighter.adapters.aws.ledger.overrides import LedgerOverrides
from lamplighter.adapters.aws.ledger.prices import LedgerPrices
from lamplighter.adapters.aws.ledger.progress import LedgerProgress
from lamplighter.adapters.aws.ledger.proofs import LedgerProofs
from lamplighter.adapters.aws.ledger.slack.slack import LedgerSlack
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.adapters.border import border
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.pool import Fence, Phase, PoolState
from lamplighter.errors import Stale, TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

LOCK_LASTS = timedelta(seconds=60)

__all__ = ["Conflict", "Ledger"]


@border
class Ledger(
    LedgerCalendar,
    LedgerCharges,
    LedgerCourses,
    LedgerDeploys,
    LedgerExperiments,
    LedgerGuard,
    LedgerOverrides,
    LedgerPrices,
    LedgerProgress,
    LedgerProofs,
    LedgerSlack,
):
    """The ledger of one lab, in the DynamoDB table of that name."""

    @contextmanager
    def writing(self, pool: str, holder: str, now: datetime) -> Iterator[Fence]:
        """Makes the caller the one writer of a pool for at most a minute. Raises TryLater while another run is.

        `holder` names the run: the same run takes its own lock again, with a new number, so that a
        crashed try does not have to be waited for and can do nothing any more.
        """
        fence = self._take(pool, holder, now)
        try:
            yield fence
        finally:
            with suppress(Conflict):  # somebody took over after our minute
                self._table.update(
                    items.pool_key(pool),
                    items.STATE,
                    "REMOVE #holder, #held_until",
                    "#fence = :fence",
                    fence=fence.number,
                )

    def still_writing(self, fence: Fence, now: datetime) -> None:
        """Call it right before a write outside: raises Stale if the minute is over or another writer took over."""
        state = self.pool(fence.pool)
        if state.fence != fence.number or now >= fence.until:
            raise Stale(
                reason(
                    "aws.ledger.lock-lost",
                    holder=fence.holder,
                    pool=fence.pool,
                    until=fence.until,
                    fence=state.fence,
                )
            )

    def plan(self, lease: Lease) -> None:
        """Writes a planned lease, new or changed; a granted lease stays as it is."""
        with suppress(Conflict):
            self._table.put(
                items.lease_item(lease),
                "attribute_not_exists(pk) OR #state = :planned",
                planned=LeaseState.PLANNED.value,
            )

    def unplan(self, pool: str, lease_id: str) -> None:
        """Deletes a planned lease; a granted lease stays as it is."""
        with suppress(Conflict):
            self._table.delete(
                items.pool_key(pool),
                items.LEASE + lease_id,
                "#state = :planned",
                planned=LeaseState.PLANNED.value,
            )

    def refuse(self, pool: str, decision: Decision, why: Entry, planned: Lease | None = None) -> None:
        """Keeps a refusal as the answer to its command; a planned lease that it is about becomes refused."""
        writes = [self._decided(pool, decision), self._entry(why)]
        if planned is not None:
            writes.append(
                self._refused(planned, decision, "#state = :planned", planned=LeaseState.PLANNED.value)
            )
        self._table.transact(writes)

    def decide(self, pool: str, decision: Decision, why: Entry | None = None) -> bool:
        """Keeps a decision that changes nothing else; True if it is the first decision on its command, which stays."""
        try:
            self._table.transact([self._decided(pool, decision), *([self._entry(why)] if why else [])])
        except Conflict:
            return False
        return True

    def advance(self, pool: str, lease_id: str, state: LeaseState, at: datetime) -> bool:
        """A lease in force is now opening (nodes ordered) or open (GPUs proven).

        False when it is being closed or over: nothing brings it back.
        """
        stamp = {LeaseState.OPENING: "ordered", LeaseState.OPEN: "ready"}[state]
        allowed = (
            "#state IN (:admitted, :opening)"
            if state is LeaseState.OPENING
            else "#state IN (:admitted, :opening, :open)"
        )
        given = {"admitted": "admitted", "opening": "opening", "at": instant.written(at)}
        if state is LeaseState.OPEN:
            given |= {"open": "open"}
        try:
            self._table.update(
                items.pool_key(pool),
                items.LEASE + lease_id,
                f"SET #state = :{state.value}, #{stamp} = if_not_exists(#{stamp}, :at)",
                allowed,
                **given,
            )
        except Conflict:
            return False
        return True

    def set_phase(self, pool: str, phase: Phase) -> None:
        """Sets the phase of the pool, for people to read; no decision uses it."""
        self._table.update(items.pool_key(pool), items.STATE, "SET #phase = :phase", phase=phase.value)

    def set_failsafe(self, pool: str, first: datetime | None) -> PoolState:
        """Keeps when the armed failsafe fires, or that none is armed; returns the pool after that."""
        key = items.pool_key(pool)
        if first is None:
            return items.pool_state(pool, self._table.update(key, items.STATE, "REMOVE #failsafe_at"))
        at = items.milliseconds(first)
        return items.pool_state(pool, self._table.update(key, items.STATE, "SET #failsafe_at = :at", at=at))

    def append_audit(self, entry: Entry) -> None:
        """Adds an audit entry; entries are never changed."""
        self._table.put(items.audit_item(entry))

    def append_audits(self, entries: Iterable[Entry]) -> None:
        """Adds audit entries in few writes; a retry may add them twice."""
        self._table.put_all([items.audit_item(entry) for entry in entries])

    def keep_settings(self, lease: Lease, settings: Mapping[str, object]) -> None:
        """Keeps the GPU settings of a lease and their changes, for its receipt and for `status`."""
        self._table.put(
            items.item(
                items.pool_key(lease.pool),
                items.SETTINGS + lease.id,
                {"document": json.dumps(settings, sort_keys=True)},
                until=lease.closes + items.KEEP_CLOSED,
            )
        )

    def put_document(self, document: str, at: datetime) -> None:
        """Keeps the lab as it is deployed."""
        self._table.put(
            items.item(items.LAB, items.DOCUMENT, {"document": document, "at": instant.written(at)})
        )

    def _take(self, pool: str, holder: str, now: datetime) -> Fence:
        until = now + LOCK_LASTS
        try:
            taken = self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #holder = :holder, #held_until = :until, #schema = :schema ADD #fence :one",
                "attribute_not_exists(#holder) OR #holder = :holder OR #held_until <= :now",
                holder=holder,
                until=items.milliseconds(until),
                now=items.milliseconds(now),
                schema=items.SCHEMA,
                one=1,
            )
        except Conflict as conflict:
            state = self.pool(pool)
            raise TryLater(
                reason("aws.ledger.locked-by", pool=pool, holder=state.holder)
                if state.holder
                else reason("aws.ledger.locked", pool=pool)
            ) from conflict
        return Fence(pool, holder, items.pool_state(pool, taken).fence, until)
