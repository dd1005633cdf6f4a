"""The last known prices of AWS's price list, by region and by what is priced: see `Lab.priced`."""

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.domain.money.price import Price
from lamplighter.reasons.fields import from_document, to_document

PRICE = "PRICE#"


class LedgerPrices(LedgerReads):
    """The ledger's prices."""

    def price(self, region: str, priced: str) -> "Price | None":
        """The last price from the price list, however old; None if it was never read."""
        item = self._table.get(items.LAB, f"{PRICE}{region}#{priced}")
        if item is None:
            return None
        return from_document(Price, items.values(item))

    def keep_price(self, region: str, priced: str, price: "Price") -> None:
        """Keeps a price of the price list, with its instant."""
        self._table.put(items.item(items.LAB, f"{PRICE}{region}#{priced}", to_document(price)))
