"""A deployed lab with its plan in the ledger: what `simulate --live` and `windows --ics` play."""

from collections.abc import Mapping
from datetime import datetime

from cli.deployment import Deployment
from lamplighter.adapters.aws.kept_courses import beside
from lamplighter.adapters.aws.known_prices import known_prices, known_terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.planner.live import Deployed


def look(deployment: Deployment) -> Deployed:
    """The lab, its leases, skips and pauses, the last read of its course calendars, and measured warm-ups."""
    lab, ledger = deployment.lab, deployment.ledger
    leases = {pool: ledger.leases(pool) for pool in lab.pools}
    return Deployed(
        lab=lab,
        terms=known_terms(lab, known_prices(lab, ledger)),
        leases=[lease for of_pool in leases.values() for lease in of_pool],
        skips=ledger.skips(),
        pauses=ledger.pauses(),
        beside=beside(lab, ledger, leases),
    )


def budgets(
    deployment: Deployment, deployed: Deployed, begin: datetime, end: datetime
) -> Mapping[str, BudgetPeriod]:
    """The budget of the present period, and of every period in which a window of the range opens."""
    currency = deployment.lab.guard.budget.currency
    periods = {lease.period for lease in deployed.ahead(begin, end, deployment.now)}
    periods |= {terms.period(deployment.now).key for terms in deployed.terms.values()}
    return {period: deployment.ledger.budget(period, currency) for period in sorted(periods)}
