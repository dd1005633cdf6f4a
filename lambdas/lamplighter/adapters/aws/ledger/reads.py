"""What the ledger can be asked: pools, leases, budgets, decisions, the audit trail, the lab.

Every read is consistent. Writing is ledger.py's and changes.py's; receipts are receipts.py's.
"""

import json
from datetime import datetime
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger import money as ledger_money
from lamplighter.adapters.aws.ledger.receipts import LedgerReceipts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.pool.pool import PoolState

_AFTER_ALL = "\U0010ffff"


class LedgerReads(LedgerReceipts):
    """The reading half of the ledger of one lab."""

    def pool(self, pool: str) -> PoolState:
        """The pool's generation, phase and lock; read it before its leases, to notice what moved."""
        return items.pool_state(pool, self._table.get(items.pool_key(pool), items.STATE))

    def leases(self, pool: str) -> list[Lease]:
        """Every lease of the pool that is planned, granted, being closed or over lately; by opening."""
        found = self._table.query(items.pool_key(pool), items.LEASE, items.LEASE + _AFTER_ALL)
        leases = [items.lease(item) for item in found]
        return sorted(leases, key=lambda lease: (lease.opens, lease.order, lease.id))

    def lease(self, pool: str, lease_id: str) -> Lease | None:
        """One lease, or None."""
        found = self._table.get(items.pool_key(pool), items.LEASE + lease_id)
        return None if found is None else items.lease(found)

    def budget(self, period: str, currency: str) -> BudgetPeriod:
        """What is held and spent in a period; nothing yet in one that nobody used."""
        found = self._table.get(items.LAB, items.BUDGET + period)
        return ledger_money.as_budget(period, currency, found)

    def command(self, pool: str, command_id: str) -> Decision | None:
        """The decision on a command; None while there is none yet."""
        found = self._table.get(items.pool_key(pool), items.COMMAND + command_id)
        return None if found is None else Decision.from_json(items.values(found))

    def audit(self, pool: str, since: datetime, until: datetime | None = None) -> list[Entry]:
        """What happened to the pool in [since, until], oldest first."""
        last = items.sortable(until) + "~" if until else _AFTER_ALL
        found = self._table.query(
            items.pool_key(pool), items.AUDIT + items.sortable(since), items.AUDIT + last
        )
        return [items.audit_entry(pool, item) for item in found]

    def settings(self, pool: str, lease_id: str) -> dict[str, Any]:
        """How a lease's GPUs were offered; empty where it has not opened."""
        found = self._table.get(items.pool_key(pool), items.SETTINGS + lease_id)
        settings: dict[str, Any] = json.loads(str(items.values(found)["document"])) if found else {}
        return settings

    def document(self) -> str | None:
        """The lab as it was deployed last, as `Lab.to_json` wrote it."""
        found = self._table.get(items.LAB, items.DOCUMENT)
        return None if found is None else str(items.values(found)["document"])
