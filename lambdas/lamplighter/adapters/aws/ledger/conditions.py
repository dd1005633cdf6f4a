"""The conditions of a grant: no pause, no destroy and no skip came in between.

They are part of the grant's transaction. calendar.py writes these items.
"""

from datetime import datetime
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.table import LedgerTable
from lamplighter.domain.leases.lease import Lease


def nobody_forbids(table: LedgerTable, lease: Lease, now: datetime) -> list[Any]:
    """The conditions under which a lease may open, each on one item."""
    checks = [
        table.check_in_transaction(
            items.LAB,
            items.BY_PEOPLE,
            "attribute_not_exists(pk) OR #ends <= :opens",
            opens=items.milliseconds(max(lease.opens, now)),
        ),
        table.check_in_transaction(items.LAB, items.BY_DESTROY, "attribute_not_exists(pk)"),
    ]
    if lease.window and lease.date:
        skipped = f"{items.SKIP}{lease.window}#{lease.date}"
        checks.append(table.check_in_transaction(items.LAB, skipped, "attribute_not_exists(pk)"))
    return checks
