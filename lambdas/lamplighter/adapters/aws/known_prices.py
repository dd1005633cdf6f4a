"""The known prices by pool: from the lab, the ledger's copy of AWS's price list, and the table shipped with us.

domain/money/price.py decides which source applies.
"""

from collections.abc import Mapping

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.money.price import Price, known_price
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab


def known_prices(lab: Lab, ledger: Ledger) -> dict[str, Price | None]:
    """The price of a node by pool; None if it is not known."""
    return {name: known_price(lab, name, ledger.price(lab.region, lab.priced(name))) for name in lab.pools}


def known_terms(lab: Lab, prices: Mapping[str, Price | None], ledger: Ledger) -> dict[str, Terms]:
    """The terms of every pool that has a price; no lease opens on a pool without one."""
    known: dict[str, Terms] = {}
    for pool, price in prices.items():
        try:
            known[pool] = terms(lab, pool, price, ledger.reservation(pool, lab.pools[pool].reservation))
        except BadInput:
            continue
    return known
