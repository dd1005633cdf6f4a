"""The budgets that an open command is judged by."""

import logging
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.errors import OutsideFailed

_logger = logging.getLogger(__name__)


def budgets_at(ledger: Ledger, terms: Terms, at: datetime) -> dict[str, BudgetPeriod]:
    """The budget of the period of an instant; and of the one after it, where it can be read.

    The second tells only when a refused lease would be granted.
    """
    period, currency = terms.period(at), terms.budget.currency
    budgets = {period.key: ledger.budget(period.key, currency)}
    following = terms.period(period.ends).key
    try:
        budgets[following] = ledger.budget(following, currency)
    except OutsideFailed as error:
        _logger.warning("nobody is told when a lease would be granted in %s: %s", following, error)
    return budgets
