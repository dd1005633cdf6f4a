"""The price of a pool's nodes, and the daily read of AWS's price list.

Where the price list cannot be read, the last price from it stays, and its age is shown.
"""

import logging
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.price_list import CURRENCY
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.money.price import Price, Source, known_price
from lamplighter.errors import LamplighterError
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.adapters.aws.price_list import PriceList
    from lamplighter.lab.model import Lab

_logger = logging.getLogger(__name__)


def known(lab: "Lab", pool: str, ledger: Ledger) -> Price | None:
    """The price of a node that counts now, or None. The lab has the values of AWS for adopted pools."""
    return known_price(lab, pool, ledger.price(lab.region, lab.priced(pool)))


def refresh(lab: "Lab", pool: str, ledger: Ledger, price_list: "PriceList", now: datetime) -> bool:
    """Read a pool's price from the price list where the lab has none and the kept one is a day old.

    False when the price list did not answer: the same run does not wait for it again.
    """
    currency, kind = lab.guard.budget.currency, lab.pools[pool].instance_type
    if lab.pools[pool].price_per_hour is not None or len(lab.pools[pool].types) != 1 or currency != CURRENCY:
        return True
    kept = ledger.price(lab.region, lab.priced(pool))
    if kept is not None and not kept.is_due(now):
        return True
    before = known(lab, pool, ledger)
    try:
        listed = _listed(lab, pool, price_list)
    except LamplighterError as error:
        _logger.warning("the price of %s stays as it was: %s", kind, error)
        return False
    if listed is None:
        _logger.warning("the price list has no %s in %s", kind, lab.region)
        return True
    price = Price(listed, currency, Source.PRICE_LIST, now)
    ledger.keep_price(lab.region, lab.priced(pool), price)
    if before is None or before.per_hour != listed:
        price_now = f"{listed:f} {currency}"
        what = reason("capacity.priced", pool=pool, price=price_now)
        if before is not None:
            what = reason(
                "capacity.priced-anew", pool=pool, price=price_now, before=f"{before.per_hour:f} {currency}"
            )
        says = (
            "capacity.price-list-says-with-fee" if lab.pools[pool].has("fee") else "capacity.price-list-says"
        )
        why = reason(says, type=kind, region=lab.region)
        ledger.append_audit(Entry(now, pool, "priced", "planner", what, why))
    return True


def _listed(lab: "Lab", pool: str, price_list: "PriceList") -> Decimal | None:
    """The price of a node in AWS's price list: of its instance and, on EKS Auto Mode, of the fee for it."""
    kind = lab.pools[pool].instance_type
    price = price_list.on_demand(lab.region, kind)
    if price is None or not lab.pools[pool].has("fee"):
        return price
    fee = price_list.auto_mode_fee(lab.region, kind)
    return None if fee is None else price + fee
