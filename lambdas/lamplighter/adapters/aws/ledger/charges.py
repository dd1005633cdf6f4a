"""The cost of nodes past the end of a lease or without one: counted once, and put on a receipt once.

Owns these transactions; how much it is, and from when to when, is domain/billing/charge.py's.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.changes import LedgerChanges
from lamplighter.adapters.aws.ledger.table import Conflict

if TYPE_CHECKING:
    from lamplighter.domain.audit.entry import Entry
    from lamplighter.domain.billing.charge import Charge
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.domain.money.budget import BudgetPeriod
    from lamplighter.domain.money.node_time import NodeTime
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

        Conflict when somebody counted, granted or closed since the pool was read, or the budget moved.
        """
        over = [lease for lease in leases if lease.id in charge.overrun]
        unbilled = charge.unleased
        for lease in over:
            ran = charge.overrun[lease.id]
            budget = budget.overrunning(ran.cost, lease.owner)
            if lease.closed is not None:
                unbilled += ran  # its own receipt was given already
        budget = budget.running_unleased(charge.unleased.cost) if charge.unleased.time else budget
        changed = [self._overran(lease, charge.overrun[lease.id]) for lease in over]
        self._table.transact(
            [
                self._counted(pool, charge.until, unbilled),
                *(self._budget(budget) if charge.all.time else []),
                *changed,
                *([self._entry(why)] if why else []),
            ]
        )

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

    def _counted(self, pool: "PoolState", until: datetime, unbilled: "NodeTime") -> Any:  # noqa: ANN401
        before, waiting = pool.metered_until, pool.unbilled
        conditions = [
            "#metered_until = :before" if before else "attribute_not_exists(#metered_until)",
            "#unbilled = :waiting" if waiting else "attribute_not_exists(#unbilled)",
            "(#generation = :generation OR (attribute_not_exists(#generation) AND :generation = :zero))",
        ]
        given: dict[str, Any] = {"until": items.milliseconds(until), "generation": pool.generation, "zero": 0}
        given |= {"before": items.milliseconds(before)} if before else {}
        given |= {"waiting": _text(waiting)} if waiting else {}
        change = "SET #metered_until = :until, #schema = :schema"
        if unbilled.time:
            change += ", #unbilled = :unbilled"
            given["unbilled"] = _text(waiting + unbilled if waiting else unbilled)
        return self._table.update_in_transaction(
            items.pool_key(pool.name),
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
