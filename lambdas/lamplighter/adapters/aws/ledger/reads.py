"""Reads the ledger: pools, leases, budgets, decisions, the audit trail, the lab.

Every read is consistent. ledger.py and changes.py write; receipts.py has the receipts.
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
        """The pool's generation, phase and lock. Read it before the leases, so that a later change is noticed."""
        return items.pool_state(pool, self._table.get(items.pool_key(pool), items.STATE))

    def where_moved(self, lease: Lease) -> Lease:
        """The lease that has its place now, on a fallback pool; the lease itself if it has not moved."""
        while lease.moved_to is not None:
            taken = self.lease(lease.moved_to.pool, lease.moved_to.lease)
            if taken is None:
                break
            lease = taken
        return lease

    def leases(self, pool: str) -> list[Lease]:
        """Every lease of the pool that is planned, granted, being closed or recently closed, in order of opening."""
        stored = self._table.query(items.pool_key(pool), items.LEASE, items.LEASE + _AFTER_ALL)
        leases = [items.lease(item) for item in stored]
        return sorted(leases, key=lambda lease: (lease.opens, lease.order, lease.id))

    def lease(self, pool: str, lease_id: str) -> Lease | None:
        """One lease, or None."""
        item = self._table.get(items.pool_key(pool), items.LEASE + lease_id)
        return None if item is None else items.lease(item)

    def budget(self, period: str, currency: str) -> BudgetPeriod:
        """The money held and spent in a period; zero in a period that nobody used."""
        item = items.BUDGET + period
        return ledger_money.as_budget(
            period, currency, self._table.query(items.LAB, item, f"{item}#{_AFTER_ALL}")
        )

    def command(self, pool: str, command_id: str) -> Decision | None:
        """The decision on a command; None until there is one."""
        item = self._table.get(items.pool_key(pool), items.COMMAND + command_id)
        return None if item is None else Decision.from_json(items.values(item))

    def audit(self, pool: str, since: datetime, until: datetime | None = None) -> list[Entry]:
        """The audit trail of the pool in [since, until], oldest first."""
        last = items.sortable(until) + "~" if until else _AFTER_ALL
        entries = self._table.query(
            items.pool_key(pool), items.AUDIT + items.sortable(since), items.AUDIT + last
        )
        return [items.audit_entry(pool, item) for item in entries]

    def settings(self, pool: str, lease_id: str) -> dict[str, Any]:
        """The GPU settings of a lease; empty until it opens."""
        item = self._table.get(items.pool_key(pool), items.SETTINGS + lease_id)
        settings: dict[str, Any] = json.loads(str(items.values(item)["document"])) if item else {}
        return settings

    def document(self) -> str | None:
        """The lab of the last deploy, as `Lab.to_json` wrote it."""
        item = self._table.get(items.LAB, items.DOCUMENT)
        return None if item is None else str(items.values(item)["document"])
