"""A deployed lab with its plan in the ledger: what `simulate --live` and `windows --ics` play."""

from collections.abc import Mapping
from datetime import datetime

from cli.deployment import Deployment
from lamplighter.adapters.aws.view_reading import PAST
from lamplighter.application.views.free_times import deployed_lab
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.planner.capacity_word import PoolRecord, record
from lamplighter.domain.planner.live import Deployed


def look(deployment: Deployment) -> Deployed:
    """The lab with its leases, its changes by people, the last read of its course calendars, and its warm-ups."""
    return deployed_lab(deployment.lab, deployment.ledger)


def records(deployment: Deployment, deployed: Deployed) -> Mapping[str, PoolRecord]:
    """What is known of the capacity of each pool."""
    return {
        pool: record(
            deployment.ledger.receipts_in_brief(pool, PAST),
            [lease for lease in deployed.leases if lease.pool == pool],
            deployed.terms.get(pool),
            deployment.zone,
            deployment.now,
        )
        for pool in deployed.lab.pools
    }


def budgets(
    deployment: Deployment, deployed: Deployed, begin: datetime, end: datetime
) -> Mapping[str, BudgetPeriod]:
    """The budget of the present period, and of every period in which a window of the range opens."""
    currency = deployment.lab.guard.budget.currency
    periods = {lease.period for lease in deployed.ahead(begin, end, deployment.now)}
    periods |= {terms.period(deployment.now).key for terms in deployed.terms.values()}
    return {period: deployment.ledger.budget(period, currency) for period in sorted(periods)}
