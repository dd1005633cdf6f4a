"""The cost of nodes past the end of a lease or without one: counted once, and put on a receipt once.

Owns these transactions; how much it is, and from when to when, is domain/billing/charge.py's.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import LEASES_AT_ONCE, Conflict
from lamplighter.domain.money.node_time import NodeTime

if TYPE_CHECKING:
    from lamplighter.domain.audit.entry import Entry
    from lamplighter.domain.billing.charge import Charge
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.domain.money.budget import BudgetPeriod
    from lamplighter.domain.pool.pool import PoolState


class LedgerCharges(LedgerChanges):
    """The ledger's account of node time that no lease pays for."""

    def charge(
        self,
        charge: "Charge",
        leases: "Sequence[Lease]",
        *,
        pool: "PoolState",
        budget: "BudgetPeriod",
        why: "Entry | None",
    ) -> None:
        """Counts node time past or without a lease as spent; `leases` were read after `pool`.

        Of many leases it writes a part at a time, in the order of their names. The pool keeps the last lease of a part
        and the end of this count: a repeated count has the same end and goes on with the next lease. Conflict when
        somebody counted, granted or closed since the pool was read, or the budget moved.
        """
        names = sorted(name for name in charge.overrun if name > pool.metering_after)
        while True:
            part, names = set(names[:LEASES_AT_ONCE]), names[LEASES_AT_ONCE:]
            over = [lease for lease in leases if lease.id in part]
            unbilled = pool.unbilled or NodeTime.nothing(charge.unleased.cost.currency)
            for lease in over:
                ran = charge.overrun[lease.id]
                budget = budget.overrunning(ran.cost, lease.owner)
                if lease.closed is not None:
                    unbilled += ran  # its own receipt was given already
            if charge.unleased.time and not names:
                budget, unbilled = budget.running_unleased(charge.unleased.cost), unbilled + charge.unleased
            counted = replace(
                pool,
                unbilled=unbilled if unbilled.time else None,
                metering_until=charge.until if names else None,
                metering_after=max(part) if names else "",
            )
            self._table.transact(
                [
                    self._counted(pool, counted, charge.until),
                    *(self._budget(budget) if over or charge.all.time else []),
                    *(self._overran(lease, charge.overrun[lease.id]) for lease in over),
                    *([self._entry(why)] if why and not names else []),
                ]
            )
            if not names:
                return
            pool, budget = counted, self.budget(budget.period, budget.held.currency)

    def begin_counting(self, pool: str, at: datetime) -> None:
        """Starts counting node time without a lease, unless it is counted already."""
        with suppress(Conflict):
            self._table.update(
                items.pool_key(pool),
                items.STATE,
                "SET #metered_until = :at, #schema = :schema",
                "attribute_not_exists(#metered_until)",
                at=items.milliseconds(at),
                schema=items.SCHEMA,
            )

    def bill_unleased(
        self,
        pool: str,
        closed: datetime,
        receipt: Mapping[str, object],
        billed: "NodeTime",
        why: "Entry",
    ) -> bool:
        """Keeps the receipt of unleased node time; False if it is kept already, or more was counted since."""
        sort_key = f"{items.RECEIPT}{items.sortable(closed)}#unleased"
        document: Any = {"document": json.dumps(receipt, sort_keys=True)}
        try:
            self._table.transact(
                [
                    self._table.put_in_transaction(items.item(items.pool_key(pool), sort_key, document)),
                    self._table.put_in_transaction(items.audit_item(why)),
                    self._table.update_in_transaction(
                        items.pool_key(pool),
                        items.STATE,
                        "REMOVE #unbilled",
                        "#unbilled = :billed",
                        billed=_text(billed),
                    ),
                ]
            )
        except Conflict:
            return False
        return True

    def _counted(self, before: "PoolState", after: "PoolState", until: datetime) -> Any:  # noqa: ANN401
        waiting, part = before.unbilled, before.metering_after
        conditions = [
            "#metered_until = :before" if before.metered_until else "attribute_not_exists(#metered_until)",
            "#unbilled = :waiting" if waiting else "attribute_not_exists(#unbilled)",
            "#metering_after = :part" if part else "attribute_not_exists(#metering_after)",
            "(#generation = :generation OR (attribute_not_exists(#generation) AND :generation = :zero))",
        ]
        given: dict[str, Any] = {
            "until": items.milliseconds(until),
            "generation": before.generation,
            "zero": 0,
        }
        given |= {"before": items.milliseconds(before.metered_until)} if before.metered_until else {}
        given |= {"waiting": _text(waiting)} if waiting else {}
        given |= {"part": part} if part else {}
        change = "SET #metered_until = :until, #schema = :schema"
        if after.metering_after:
            change = "SET #metering_until = :until, #metering_after = :after, #schema = :schema"
            given["after"] = after.metering_after
        if after.unbilled:
            change += ", #unbilled = :unbilled"
            given["unbilled"] = _text(after.unbilled)
        if part and not after.metering_after:
            change += " REMOVE #metering_until, #metering_after"
        return self._table.update_in_transaction(
            items.pool_key(before.name),
            items.STATE,
            change,
            " AND ".join(conditions),
            schema=items.SCHEMA,
            **given,
        )

    def _overran(self, lease: "Lease", ran: "NodeTime") -> Any:  # noqa: ANN401
        """Adds to the overrun of a lease that is still in the ledger."""
        so_far: Any = (lease.overrun + ran if lease.overrun else ran).to_json()
        return self._table.update_in_transaction(
            items.pool_key(lease.pool),
            items.LEASE + lease.id,
            "SET #overrun = :so_far",
            "attribute_exists(pk)",
            so_far=so_far,
        )


def _text(ran: "NodeTime") -> str:
    return json.dumps(ran.to_json(), sort_keys=True)
