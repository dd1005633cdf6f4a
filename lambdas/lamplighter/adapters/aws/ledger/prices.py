"""The prices that the ledger keeps: what AWS's price list said last, by region and instance type."""

from collections.abc import Mapping
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.domain.money.price import Price

PRICE = "PRICE#"


class LedgerPrices(LedgerReads):
    """The ledger's prices."""

    def price(self, region: str, instance_type: str) -> "Price | None":
        """What the price list said last, however long ago; None where it was never read."""
        found = self._table.get(items.LAB, f"{PRICE}{region}#{instance_type}")
        if found is None:
            return None

        said: Mapping[str, Any] = items.values(found)
        return Price.from_json(said)

    def keep_price(self, region: str, instance_type: str, price: "Price") -> None:
        """Keep what the price list says, with its instant."""
        said: Any = price.to_json()
        self._table.put(items.item(items.LAB, f"{PRICE}{region}#{instance_type}", said))
