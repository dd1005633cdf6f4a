"""Reads what explains a pool's state at an instant; domain/audit/why.py explains it."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.kept_courses import kept_courses
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.why import Explanation, explain
from lamplighter.domain.calendar.timetable import Timetable

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

REACHES_BACK = timedelta(days=14)
"""How much of the audit trail before the instant is read."""


def explained(lab: "Lab", ledger: Ledger, pool: str, at: datetime, now: datetime) -> Explanation:
    """Why the pool had the nodes that it had at `at`, which is not later than `now`.

    The trail after `at` is read as well: it says which leases were changed since.
    """
    return explain(
        ledger.leases(pool),
        ledger.audit(pool, at - REACHES_BACK, now),
        at,
        lab.pools[pool].max_nodes,
        windows=Timetable(lab, kept_courses(lab, ledger)).open_at(at).get(pool, ()),
        skips=ledger.skips(),
    )
