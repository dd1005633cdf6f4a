"""What is known of prices now, by pool: from the lab, the ledger's copy of AWS's list, and the table shipped with us.

Whoever reads a whole lab asks here; which source wins is domain/money/price.py's.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.money.price import Price, known_price
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab


def known_prices(lab: Lab, ledger: Ledger) -> dict[str, Price | None]:
    """What a node costs; None where nobody knows it."""
    return {
        name: known_price(lab, name, ledger.price(lab.region, pool.instance_type))
        for name, pool in lab.pools.items()
    }


def known_terms(lab: Lab, prices: Mapping[str, Price | None]) -> dict[str, Terms]:
    """Of every pool that has a price: the others open nothing."""
    known: dict[str, Terms] = {}
    for pool, price in prices.items():
        try:
            known[pool] = terms(lab, pool, price)
        except BadInput:
            continue
    return known
