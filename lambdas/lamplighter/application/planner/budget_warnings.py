"""The planner's look at the budget: people hear of it before anybody is refused."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.failures import going_on
from lamplighter.application.planner.announcements import PlannerNotices
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.granting.budget_use import warnings
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.planner import planner

if TYPE_CHECKING:
    from lamplighter.domain.calendar.changes import Pause, Skip
    from lamplighter.domain.planner.planner import CalendarInputs
    from lamplighter.lab.model import Lab


def warn_of_budget(  # noqa: PLR0917
    lab: "Lab",
    terms: Mapping[str, Terms],
    beside: "CalendarInputs",
    skips: Sequence["Skip"],
    pauses: Sequence["Pause"],
    ledger: Ledger,
    planner_notices: PlannerNotices,
    now: datetime,
    failures: list[str],
) -> None:
    """Say how much of this period's budget is used, and whether the windows until its end fit into it."""
    shares = lab.guard.budget.warn_at
    if not terms or not shares:
        return
    with going_on(failures, "budget warnings"):
        of_any = next(iter(terms.values()))
        period = of_any.period(now)
        calendar = planner.calendar(lab, terms, skips, now, period.ends, beside=beside)
        decided = {
            lease.id
            for leases in beside.known.values()
            for lease in leases
            if lease.state is not LeaseState.PLANNED
        }
        ahead = [lease for lease in calendar.leases if not paused_at(pauses, lease.closes)]
        planned = [lease for lease in ahead if lease.period == period.key and lease.id not in decided]
        for use in warnings(of_any, ledger.budget(period.key, of_any.budget.currency), planned, shares):
            planner_notices.budget_used(use, period.key)
