"""The last known prices of AWS's price list, by region and instance type."""

from collections.abc import Mapping
from typing import Any

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.domain.money.price import Price

PRICE = "PRICE#"


class LedgerPrices(LedgerReads):
    """The ledger's prices."""

    def price(self, region: str, instance_type: str) -> "Price | None":
        """The last price from the price list, however old; None if it was never read."""
        item = self._table.get(items.LAB, f"{PRICE}{region}#{instance_type}")
        if item is None:
            return None

        attributes: Mapping[str, Any] = items.values(item)
        return Price.from_json(attributes)

    def keep_price(self, region: str, instance_type: str, price: "Price") -> None:
        """Keeps a price of the price list, with its instant."""
        attributes: Any = price.to_json()
        self._table.put(items.item(items.LAB, f"{PRICE}{region}#{instance_type}", attributes))
