"""Which running leases will use up their budget, calculated from the nodes that really run.

domain/guard/budget.py has the rule. While the budget covers all holds, which is nearly always, one read of the ledger
is enough.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from lamplighter.application.capacity.lives import nodes_lives
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.billing.charge import grants
from lamplighter.domain.billing.metering import meter
from lamplighter.domain.guard import budget as guard_budget
from lamplighter.domain.guard.budget import Running
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.errors import BadInput

_logger = logging.getLogger(__name__)
SECOND = timedelta(seconds=1)


def overdrafts(
    lease_services: LeaseServices, pool: str, leases: Iterable[Lease], now: datetime
) -> Mapping[str, Overdraft]:
    """The leases of a pool whose budget will be used up before they end; none while the budget covers all holds."""
    in_force = [lease for lease in leases if lease.in_force(now)]
    if not in_force:
        return {}
    found: dict[str, Overdraft] = {}
    try:
        terms = lease_services.terms(pool)
    except BadInput as unknown:
        _logger.warning("the cost of pool %s is not known: %s", pool, unknown)
        return {}
    for period in sorted({lease.period for lease in in_force}):
        budget = lease_services.ledger.budget(period, terms.budget.currency)
        if not guard_budget.covered(in_force, terms, budget):
            running = [
                lease
                for name in lease_services.capacity.lab.pools
                for lease in _running(lease_services, name, period, now, terms)
            ]
            found |= guard_budget.overdrafts(running, terms, budget, now)
    return found


def _running(
    lease_services: LeaseServices, pool: str, period: str, now: datetime, terms: Terms
) -> list[Running]:
    """The leases of a period that are not settled, with what their nodes have cost by now."""
    leases = lease_services.ledger.leases(pool)
    unsettled = [lease for lease in leases if lease.period == period and _unsettled(lease, now)]
    if not unsettled:
        return []
    try:
        terms, priced = lease_services.terms(pool), True
    except BadInput as unknown:
        # Another pool's capacity may not exist any more: leases granted there keep their price.
        _logger.warning("the present price of pool %s is not known: %s", pool, unknown)
        priced = False
    lives = nodes_lives(lease_services.capacity, pool, lease_services.capacity.see(pool), now)
    so_far = meter(lives, grants(leases), min(lease.opens for lease in unsettled), now).of_leases
    present = meter(lives, grants(leases), now - SECOND, now).of_leases
    return [
        Running(
            lease=lease,
            so_far=granted.paid(so_far.get(lease.id, {})).cost,
            per_second=granted.paid(present.get(lease.id, {})).cost,
        )
        for lease in unsettled
        for granted in [terms.as_granted(lease)]
        if priced or lease.price_per_hour is not None
    ]


def _unsettled(lease: Lease, now: datetime) -> bool:
    return lease.opens < now and (lease.granted or lease.state is LeaseState.CLOSING)
