"""The guard's memory of a pool from one sweep to the next, and people's orders to it.

Leaks, how long a pool is over or idle, watch and enforce, silenced pages, leases to keep. Each write is
conditional, so that sweeps and people may cross each other.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.reservation import Reservation
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import GRANTED, Lease
from lamplighter.domain.pool.pool import Phase, PoolState, SeenGpus
from lamplighter.reasons.fields import from_document, to_document
from lamplighter.reasons.reason import Said
from lamplighter.values import instant

if TYPE_CHECKING:
    from lamplighter.domain.billing.gpu_hours import GpuUse
    from lamplighter.domain.billing.metering import NodeLife
    from lamplighter.domain.billing.seat_use import SeatUse
    from lamplighter.domain.guard.dead_letters import DeadLetterIncident

LIFE = "LIFE#"
RESERVATION = "RESERVATION"
DEAD_LETTERS = "DEAD-LETTERS"
GPUS_SEEN_AGAIN = timedelta(minutes=1)


class LedgerGuard(LedgerChanges):
    """The guard's part of the ledger."""

    def lives(self, pool: str) -> "list[NodeLife]":
        """When the pool's nodes ran, as sweeps saw it; only of capacity whose past nobody else keeps."""
        # Every function loads this file at its start, and few ask for lives.
        from lamplighter.domain.billing.metering import NodeLife  # noqa: PLC0415

        found = self._table.query(items.pool_key(pool), LIFE, f"{LIFE}~")
        return [from_document(NodeLife, items.values(item)) for item in found]

    def keep_lives(self, pool: str, lives: "Iterable[NodeLife]", now: datetime) -> None:
        """Keep these lives; each replaces what was kept of its instance."""
        pk, until = items.pool_key(pool), now + items.KEEP_CLOSED
        self._table.put_all(
            [items.item(pk, f"{LIFE}{life.instance}", to_document(life), until=until) for life in lives]
        )

    def reservation(self, pool: str, named: str | None) -> Reservation | None:
        """The reservation of this id as it was read last; None where it was never read, or the pool has none."""
        item = self._table.get(items.pool_key(pool), RESERVATION) if named else None
        found = from_document(Reservation, items.values(item)) if item else None
        return found if found is not None and found.id == named else None

    def keep_reservation(self, pool: str, found: Reservation) -> None:
        """Keeps what a sweep read, in the place of what was read before."""
        self._table.put(items.item(items.pool_key(pool), RESERVATION, to_document(found)))

    def mark_leaked(self, pool: str, since: datetime, why: Said) -> bool:
        """The pool should be at zero and is not; True the first time, so that it is announced once."""
        try:
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #phase = :leaked, #leaked_since = :since, #leaked_because = :why REMOVE #acked_until",
                "attribute_not_exists(#leaked_since)",
                leaked=Phase.LEAKED.value,
                since=items.milliseconds(since),
                why=items.written(why),
            )
        except Conflict:
            return False
        return True

    def clear_leaked(self, pool: str, phase: Phase = Phase.CLOSED) -> bool:
        """The pool is at zero after all, or leased again; True when it was leaked."""
        try:
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #phase = :phase REMOVE #leaked_since, #leaked_because, #acked_until",
                "attribute_exists(#leaked_since)",
                phase=phase.value,
            )
        except Conflict:
            return False
        return True

    def note_over(self, pool: str, since: datetime) -> None:
        """From now on the pool should be at zero and is not; the first such instant stays."""
        with suppress(Conflict):
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #over_since = :since",
                "attribute_not_exists(#over_since)",
                since=items.milliseconds(since),
            )

    def note_not_over(self, pool: str) -> None:
        """The pool is at zero, or leased again."""
        self._table.update(items.pool_key(pool), items.STATE, "REMOVE #over_since")

    def note_idle(self, pool: str, since: datetime, now: datetime) -> None:
        """No pod holds a GPU of the pool, since `since` until now; a later observation that came first stays."""
        with suppress(Conflict):
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #idle_since = :since, #looked_at = :now",
                "attribute_not_exists(#looked_at) OR #looked_at < :now",
                since=items.milliseconds(since),
                now=items.milliseconds(now),
            )

    def note_busy(self, pool: str, now: datetime) -> None:
        """A pod holds a GPU of the pool, or the pool has no node that could be idle."""
        with suppress(Conflict):
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #looked_at = :now REMOVE #idle_since",
                "attribute_not_exists(#looked_at) OR #looked_at < :now",
                now=items.milliseconds(now),
            )

    def note_gpus(self, pool: str, seen: SeenGpus, before: SeenGpus | None) -> None:
        """The pool's GPUs in use, as a sweep saw them; the same values are written once a minute at most."""
        same = before is not None and (before.in_use, before.of) == (seen.in_use, seen.of)
        if same and before is not None and seen.at - before.at < GPUS_SEEN_AGAIN:
            return
        with suppress(Conflict):
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #gpus_in_use = :in_use, #gpus_seen = :of, #gpus_seen_at = :at",
                "attribute_not_exists(#gpus_seen_at) OR #gpus_seen_at < :at",
                in_use=seen.in_use,
                of=seen.of,
                at=items.milliseconds(seen.at),
            )

    def gpu_use(self, pool: str, lease_id: str) -> "GpuUse":
        """What the guard has read of a lease's GPUs."""
        from lamplighter.domain.billing.gpu_hours import GpuUse  # noqa: PLC0415 -- only labs with idle_by: gpu

        item = self._table.get(items.pool_key(pool), items.GPU_USE + lease_id)
        return from_document(GpuUse, items.values(item)) if item else GpuUse()

    def note_gpu_use(self, lease: Lease, use: "GpuUse", before: "GpuUse") -> None:
        """Keep the sums after a reading; nothing where another sweep has added a reading meanwhile."""
        self._note_use(lease, items.GPU_USE, use, before.read_until)

    def seat_use(self, pool: str, lease_id: str) -> "SeatUse":
        """What the guard has read of a lease's seats."""
        from lamplighter.domain.billing.seat_use import SeatUse  # noqa: PLC0415 -- only labs with seats

        item = self._table.get(items.pool_key(pool), items.SEAT_USE + lease_id)
        return from_document(SeatUse, items.values(item)) if item else SeatUse()

    def note_seat_use(self, lease: Lease, use: "SeatUse", before: "SeatUse") -> None:
        """Keep the seats after a reading, as `note_gpu_use`."""
        self._note_use(lease, items.SEAT_USE, use, before.read_until)

    def _note_use(self, lease: Lease, kind: str, use: "GpuUse | SeatUse", last: datetime | None) -> None:
        until = lease.closes + items.KEEP_CLOSED
        kept = items.item(items.pool_key(lease.pool), kind + lease.id, to_document(use), until=until)
        with suppress(Conflict):
            if last is None:
                self._table.put(kept, "attribute_not_exists(#sk)")
            else:
                self._table.put(kept, "#read_until = :last", last=instant.written(last))

    def note_stirred(self, pool: str, at: datetime) -> None:
        """Nothing moved and Slack is to hear of something all the same: whoever listens to the ledger looks again."""
        self._table.update(
            items.pool_key(pool), items.STATE, "SET #stirred_at = :at", at=items.milliseconds(at)
        )

    def dead_letters(self) -> "DeadLetterIncident | None":
        """What sweeps remember of dead letters; None where none ever found one."""
        from lamplighter.domain.guard.dead_letters import DeadLetterIncident  # noqa: PLC0415 -- seldom

        found = self._table.get(items.LAB, DEAD_LETTERS)
        return None if found is None else from_document(DeadLetterIncident, items.values(found))

    def note_dead_letters(self, now: "DeadLetterIncident", before: "DeadLetterIncident | None") -> bool:
        """Remember it in the place of what was read before; False where another sweep did so meanwhile."""
        written = items.item(items.LAB, DEAD_LETTERS, to_document(now))
        if before is None:
            condition, seen = "attribute_not_exists(#seen)", {}
        else:
            condition, seen = "#seen = :seen", {"seen": to_document(before)["seen"]}
        try:
            self._table.put(written, condition, **seen)
        except Conflict:
            return False
        return True

    def change_mode(self, pool: str, mode: str, decision: Decision, why: Entry) -> None:
        """Sets `watch` or `enforce` by a person's order, with the answer to the command and the audit entry."""
        change = self._table.update_in_transaction(
            items.pool_key(pool), items.STATE, "SET #mode = :mode", mode=mode
        )
        self._table.transact([change, self._decided(pool, decision), self._entry(why)])

    def acknowledge(self, pool: PoolState, until: datetime, decision: Decision, why: Entry) -> None:
        """Silences pages about this leak until then. Raises Conflict if the leak is over or another one."""
        silence = self._table.update_in_transaction(
            items.pool_key(pool.name),
            items.STATE,
            "SET #acked_until = :until",
            "#leaked_since = :since",
            until=items.milliseconds(until),
            since=items.milliseconds(pool.leaked_since) if pool.leaked_since else 0,
        )
        self._table.transact([silence, self._decided(pool.name, decision), self._entry(why)])

    def keep(self, lease: Lease, pool: PoolState, decision: Decision, why: Entry) -> None:
        """Keeps a lease although it is idle: a close for idleness is stale from now on.

        Conflict when lease or pool moved since they were read.
        """
        kept = self._table.update_in_transaction(
            items.pool_key(lease.pool),
            items.LEASE + lease.id,
            "SET #kept = :by, #generation = :next",
            "#state IN (:admitted, :opening, :open) AND #generation = :generation",
            by=why.who,
            next=pool.generation + 1,
            generation=lease.generation,
            **{state.value: state.value for state in GRANTED},
        )
        self._table.transact(
            [
                kept,
                self._next_generation(pool, None, pool.phase),
                self._decided(lease.pool, decision),
                self._entry(why),
            ]
        )
