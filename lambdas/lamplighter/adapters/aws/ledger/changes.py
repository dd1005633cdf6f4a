"""The transactions of the ledger: granting, opening, extending, closing and settling a lease.

Each change increases the pool's generation or the budget's version, on the condition that nobody else did. Conflict
means: read again and decide again. The domain decides, application/leases orders the steps.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger import money as ledger_money
from lamplighter.adapters.aws.ledger.conditions import nobody_forbids
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import LEASES_AT_ONCE
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import GRANTED, Lease, LeaseState
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.pool import Fence, Phase, PoolState
from lamplighter.values import instant

_SAME_GENERATION = (
    "(#generation = :generation OR (attribute_not_exists(#generation) AND :generation = :zero))"
)
_SAME_VERSION = "#version = :version OR (attribute_not_exists(pk) AND :version = :zero)"
_UNOPENED = "#state = :admitted AND attribute_not_exists(#ordered)"


class LedgerChanges(LedgerReads):
    """The transactions of the ledger."""

    def grant(
        self,
        lease: Lease,
        decision: Decision,
        *,
        pool: PoolState,
        budget: BudgetPeriod,
        fence: Fence,
        why: Entry,
        also: Sequence[Entry] = (),
        left: tuple[Lease, PoolState] | None = None,
    ) -> Lease:
        """Admit a lease as decided on `pool` and `budget` as they were read; Conflict when either moved.

        Conflict also where somebody paused the lab or skipped the window since. `also` are more entries of the trail.
        `left` is the lease of another pool whose place it takes, with that pool: it begins to close in the same
        transaction, and Conflict where it has changed.
        """
        granted = replace(lease, generation=pool.generation + 1)
        self._table.transact(
            [
                self._table.put_in_transaction(
                    items.lease_item(granted),
                    "attribute_not_exists(pk) OR #state = :planned",
                    planned=LeaseState.PLANNED.value,
                ),
                self._next_generation(pool, fence, Phase.OPENING),
                *self._budget(budget.holding(lease.hold, lease.owner)),
                self._decided(lease.pool, decision),
                *map(self._entry, (why, *also)),
                *(self._leaving(*left, granted, why.at) if left else []),
                *nobody_forbids(self._table, granted, why.at),
            ]
        )
        return granted

    def open_granted(
        self, before: Lease, after: Lease, decision: Decision, budget: BudgetPeriod, why: Entry | None
    ) -> None:
        """A run opens a lease that was granted ahead, as decided on `budget` as it was read; Conflict when it moved.

        `after` has the present types and price of its pool, and `why` if they changed. Conflict also where nodes are
        ordered for the lease by now, it was extended, or it is being closed.
        """
        agreed = after.to_json()
        money = (
            self._budget(budget.freeing(before.hold, before.owner).holding(after.hold, after.owner))
            if why
            else [
                self._table.check_in_transaction(
                    items.LAB, items.BUDGET + budget.period, _SAME_VERSION, version=budget.version, zero=0
                )
            ]
        )
        self._table.transact(
            [
                self._table.update_in_transaction(
                    items.pool_key(before.pool),
                    items.LEASE + before.id,
                    "SET #run = :run, #hold = :hold, #price_per_hour = :price, #instance_types = :types",
                    f"{_UNOPENED} AND #generation = :generation",
                    run=decision.command,
                    hold=agreed["hold"],
                    price=agreed["price_per_hour"],
                    types=agreed["instance_types"],
                    generation=before.generation,
                    admitted=LeaseState.ADMITTED.value,
                ),
                *money,
                self._decided(before.pool, decision),
                *([self._entry(why)] if why else []),
            ]
        )

    def refuse_granted(
        self,
        lease: Lease,
        decision: Decision,
        *,
        pool: PoolState,
        budget: BudgetPeriod,
        fence: Fence,
        why: Entry,
    ) -> None:
        """A lease that was granted ahead ends at its opening, without nodes: frees its hold. Conflict as above."""
        self._table.transact(
            [
                self._refused(lease, decision, _UNOPENED, admitted=LeaseState.ADMITTED.value),
                self._next_generation(pool, fence, pool.phase),
                *self._budget(budget.freeing(lease.hold, lease.owner)),
                self._decided(lease.pool, decision),
                self._entry(why),
            ]
        )

    def extend(
        self,
        before: Lease,
        after: Lease,
        decision: Decision,
        *,
        pool: PoolState,
        budget: BudgetPeriod,
        fence: Fence,
        why: Entry,
    ) -> Lease:
        """Moves a lease's end as decided. Raises Conflict if lease, pool or budget changed since they were read."""
        extended = replace(after, generation=pool.generation + 1)
        self._table.transact(
            [
                self._changed(before, extended),
                self._next_generation(pool, fence, pool.phase),
                *self._budget(budget.holding(after.hold - before.hold, after.owner)),
                self._decided(after.pool, decision),
                self._entry(why),
            ]
        )
        return extended

    def begin_closing(self, leases: Sequence[Lease], pool: PoolState, now: datetime, why: Entry) -> None:
        """From now on these leases justify no nodes; their end is now at the latest.

        A lease that is being closed already is left as it is. Needs no fence: closing is always safe. Many leases begin
        to close in parts: if one part is lost, the caller decides again on the leases that are left.
        """
        closing = [lease for lease in leases if lease.granted]
        while closing:
            part, closing = closing[:LEASES_AT_ONCE], closing[LEASES_AT_ONCE:]
            told = [] if closing else [self._entry(why)]
            writes = [self._closing(lease, now) for lease in part]
            self._table.transact([*writes, self._next_generation(pool, None, Phase.CLOSING), *told])
            pool = replace(pool, generation=pool.generation + 1)

    def _closing(self, lease: Lease, now: datetime) -> Any:  # noqa: ANN401
        return self._table.update_in_transaction(
            items.pool_key(lease.pool),
            items.LEASE + lease.id,
            "SET #state = :closing, #closes = :closes",
            "#state IN (:admitted, :opening, :open) AND #generation = :generation",
            closing=LeaseState.CLOSING.value,
            closes=_end(lease, now),
            generation=lease.generation,
            **_GRANTED,
        )

    def _leaving(self, lease: Lease, pool: PoolState, taken: Lease, now: datetime) -> list[Any]:
        """A lease without nodes ends, since another pool has taken its place."""
        return [
            self._table.update_in_transaction(
                items.pool_key(lease.pool),
                items.LEASE + lease.id,
                "SET #state = :closing, #closes = :closes, #moved_to = :moved_to",
                "#state IN (:admitted, :opening, :open) AND #generation = :generation AND #missing = :nodes",
                closing=LeaseState.CLOSING.value,
                closes=_end(lease, now),
                moved_to={"pool": taken.pool, "lease": taken.id},
                generation=lease.generation,
                nodes=lease.nodes,
                **_GRANTED,
            ),
            self._next_generation(pool, None, Phase.CLOSING),
        ]

    def settle(self, settled: Lease, budget: BudgetPeriod, why: Entry) -> None:
        """Closes a lease for good: frees its hold and counts its cost as spent; `budget` as it was read.

        Its overrun is spent already. Conflict when the lease is not being closed any more, more of its
        overrun was counted meanwhile, or the budget moved.
        """
        cost = settled.cost or Money.zero(settled.hold.currency)
        overrun = settled.overrun
        closed = replace(settled, state=LeaseState.CLOSED)
        self._table.transact(
            [
                self._table.put_in_transaction(
                    items.lease_item(closed),
                    "#state = :closing AND "
                    + ("#overrun = :overrun" if overrun else "attribute_not_exists(#overrun)"),
                    closing=LeaseState.CLOSING.value,
                    **({"overrun": overrun.to_json()} if overrun else {}),
                ),
                *self._budget(
                    budget.freeing(settled.hold, settled.owner).paying(
                        cost - overrun.cost if overrun else cost, settled.owner
                    )
                ),
                self._entry(why),
            ]
        )

    def rehold(
        self, before: Lease, after: Lease, *, pool: PoolState, budget: BudgetPeriod, why: Entry
    ) -> None:
        """Changes the hold of a lease that misses nodes, or loses some. Another number of nodes is a new generation.

        Conflict when the lease, the budget or the pool moved since they were read.
        """
        moved = after.wanted != before.wanted
        if moved:
            after = replace(after, generation=pool.generation + 1)
        self._table.transact(
            [
                self._changed(before, after),
                *self._budget(budget.freeing(before.hold, before.owner).holding(after.hold, after.owner)),
                *([self._next_generation(pool, None, pool.phase)] if moved else []),
                self._entry(why),
            ]
        )

    def _changed(self, before: Lease, after: Lease) -> Any:  # noqa: ANN401
        """Updates what was agreed about a granted lease; other steps write its progress meanwhile."""
        taken: Any = {} if after.taken == before.taken else {"taken": list(after.taken)}
        return self._table.update_in_transaction(
            items.pool_key(before.pool),
            items.LEASE + before.id,
            "SET #nodes = :nodes, #closes = :closes, #hold = :hold, #missing = :missing, #generation = :next, "
            "#asked_until = :asked_until, #wanted_before = :wanted_before"
            + ", #taken = :taken"
            * bool(taken),
            "#generation = :generation AND #missing = :missing_before "
            "AND #state IN (:admitted, :opening, :open)",
            nodes=after.nodes,
            closes=instant.written(after.closes),
            hold=after.hold.to_json(),
            missing=after.missing,
            wanted_before=after.to_json()["wanted_before"],
            asked_until=instant.written(after.asked_until) if after.asked_until else None,
            next=after.generation,
            generation=before.generation,
            missing_before=before.missing,
            **taken,
            **_GRANTED,
        )

    def _refused(self, lease: Lease, decision: Decision, condition: str, **given: str) -> Any:  # noqa: ANN401
        return self._table.update_in_transaction(
            items.pool_key(lease.pool),
            items.LEASE + lease.id,
            "SET #state = :refused, #because = :because, #ttl = :ttl",
            condition,
            refused=LeaseState.REFUSED.value,
            because=items.written(decision.reason),
            ttl=int((decision.at + items.KEEP_CLOSED).timestamp()),
            **given,
        )

    def _next_generation(self, pool: PoolState, fence: Fence | None, phase: Phase) -> Any:  # noqa: ANN401
        condition, given = _SAME_GENERATION, {"generation": pool.generation, "zero": 0}
        if fence is not None:
            condition += " AND #fence = :fence"
            given["fence"] = fence.number
        return self._table.update_in_transaction(
            items.pool_key(pool.name),
            items.STATE,
            "SET #generation = :next, #phase = :phase, #schema = :schema",
            condition,
            next=pool.generation + 1,
            phase=phase.value,
            schema=items.SCHEMA,
            **given,
        )

    def _budget(self, budget: BudgetPeriod) -> list[Any]:
        """The puts of the period and of the pages of accounts that changed, each as it was read."""
        return [
            self._table.put_in_transaction(item, _SAME_VERSION, version=version, zero=0)
            for item, version in ledger_money.as_items(budget)
        ]

    def _decided(self, pool: str, decision: Decision) -> Any:  # noqa: ANN401
        said: Any = decision.to_json()
        item = items.item(
            items.pool_key(pool),
            items.COMMAND + decision.command,
            said,
            until=decision.at + items.KEEP_COMMANDS,
        )
        return self._table.put_in_transaction(item, "attribute_not_exists(pk)")

    def _entry(self, entry: Entry) -> Any:  # noqa: ANN401
        return self._table.put_in_transaction(items.audit_item(entry))


_GRANTED = {state.value: state.value for state in GRANTED}


def _end(lease: Lease, now: datetime) -> str:
    return instant.written(min(lease.closes, now.replace(microsecond=0)))
