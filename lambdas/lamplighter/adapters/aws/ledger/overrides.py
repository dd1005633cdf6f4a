"""Cluster settings that leases changed, and what must be put back: one item an override.

Loans have a partition of their own, so that whoever borrows need not be able to write anything else. One that
was given back stays for a while: a change that was on its way then may land after it, and is found by it.
"""

from contextlib import suppress
from datetime import datetime

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.domain.gpu.overrides import Override

LOAN = "LOAN"
FIRST, LAST = "!", "\U0010ffff"


class LedgerOverrides(LedgerReads):
    """The ledger's overrides."""

    def override(self, what: str) -> Override | None:
        """The override of that name, reverted or not; None where there was none lately."""
        found = self._table.get(LOAN, what)
        return None if found is None else Override.from_item(what, items.values(found))

    def overrides(self) -> list[Override]:
        """Every override, with those that were reverted lately."""
        found = [items.values(each) for each in self._table.query(LOAN, FIRST, LAST)]
        return [Override.from_item(str(each["sk"]), each) for each in found]

    def keep_override(self, override: Override) -> Override:
        """Write an override before anything changes; gives the present one if it is not reverted yet."""
        with suppress(Conflict):
            self._table.put(
                items.item(LOAN, override.what, dict(override.to_item())),
                "attribute_not_exists(pk) OR attribute_exists(#ended)",
            )
            return override
        return self.override(override.what) or override

    def change_holders(self, before: Override, after: Override) -> None:
        """Other leases hold the override now. Conflict if its holders changed, or if it is reverted."""
        self._table.update(
            LOAN,
            before.what,
            "SET #holders = :after",
            "#holders = :before AND attribute_not_exists(#ended)",
            after=after.to_item()["holders"],
            before=before.to_item()["holders"],
        )

    def end_override(self, override: Override, now: datetime) -> None:
        """It is given back. Conflict where somebody joined it meanwhile."""
        self._table.update(
            LOAN,
            override.what,
            "SET #ended = :now, #ttl = :ttl",
            "#holders = :holders AND #since = :since",
            now=items.milliseconds(now),
            ttl=int((now + items.KEEP_CLOSED).timestamp()),
            holders=override.to_item()["holders"],
            since=override.to_item()["since"],
        )
