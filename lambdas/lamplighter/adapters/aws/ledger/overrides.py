"""Overrides: cluster settings that leases changed, with the values to restore. One item for each override.

Overrides have a partition of their own, so the function that changes settings may write them and nothing else. A
reverted override is kept for a while: a change that was under way may arrive after it, and this item shows it.
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
        """The override of that name, reverted or not; None if there was none recently."""
        item = self._table.get(LOAN, what)
        return None if item is None else Override.from_item(what, items.values(item))

    def overrides(self) -> list[Override]:
        """Every override, also those that were reverted recently."""
        overrides = map(items.values, self._table.query(LOAN, FIRST, LAST))
        return [Override.from_item(str(override["sk"]), override) for override in overrides]

    def keep_override(self, override: Override) -> Override:
        """Writes an override before anything changes. Returns the present override if it is not reverted yet."""
        with suppress(Conflict):
            self._table.put(
                items.item(LOAN, override.what, dict(override.to_item())),
                "attribute_not_exists(pk) OR attribute_exists(#ended)",
            )
            return override
        return self.override(override.what) or override

    def change_holders(self, before: Override, after: Override) -> None:
        """Writes the leases that hold the override now. Conflict if its holders changed, or if it is reverted."""
        self._table.update(
            LOAN,
            before.what,
            "SET #holders = :after",
            "#holders = :before AND attribute_not_exists(#ended)",
            after=after.to_item()["holders"],
            before=before.to_item()["holders"],
        )

    def end_override(self, override: Override, now: datetime) -> None:
        """Marks the override as reverted. Conflict if another lease joined it in the meantime."""
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
