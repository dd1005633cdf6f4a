"""A deployed lab with all that its ledger says of the plan: what `simulate --live` and `windows --ics` play."""

from collections.abc import Mapping
from datetime import datetime

from cli.deployment import Deployment
from lamplighter.adapters.calendars.kept import beside
from lamplighter.domain.calendar.live import Deployed
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.price import known_price
from lamplighter.errors import BadInput


def look(found: Deployment) -> Deployed:
    """The lab, its leases, what people changed, course calendars as last read, and measured warm-ups."""
    known = {pool: found.ledger.leases(pool) for pool in found.lab.pools}
    return Deployed(
        lab=found.lab,
        terms=_terms(found),
        leases=[lease for leases in known.values() for lease in leases],
        skips=found.ledger.skips(),
        pauses=found.ledger.pauses(),
        beside=beside(found.lab, found.ledger, known),
    )


def budgets(
    found: Deployment, deployed: Deployed, begin: datetime, end: datetime
) -> Mapping[str, BudgetPeriod]:
    """The budgets of every period that the range's windows open in, and the present one."""
    currency = found.lab.guard.budget.currency
    periods = {lease.period for lease in deployed.ahead(begin, end, found.now)}
    periods |= {each.period(found.now).key for each in deployed.terms.values()}
    return {period: found.ledger.budget(period, currency) for period in sorted(periods)}


def _terms(found: Deployment) -> dict[str, Terms]:
    """The terms of every pool whose price is known; the planner plans no other either."""
    known: dict[str, Terms] = {}
    for pool in found.lab.pools:
        kept = found.ledger.price(found.lab.region, found.lab.pools[pool].instance_type)
        try:
            known[pool] = terms(found.lab, pool, known_price(found.lab, pool, kept))
        except BadInput:
            continue
    return known
