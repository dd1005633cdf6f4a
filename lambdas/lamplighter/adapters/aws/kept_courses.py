"""The inputs of a lab's calendar that the ledger keeps: course calendars as last read, and measured warm-ups.

For every reader of the plan; only the planner reads addresses again.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.leases.warm_up import READ, measured
from lamplighter.domain.planner.planner import CalendarInputs

if TYPE_CHECKING:
    from lamplighter.adapters.aws.ledger.ledger import Ledger
    from lamplighter.domain.calendar.course import Course
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.lab.model import Lab


def beside(lab: "Lab", ledger: "Ledger", known: "Mapping[str, Sequence[Lease]]") -> "CalendarInputs":
    """All inputs of a deployed lab's calendar; `known` are the leases of the ledger, by pool."""
    return CalendarInputs(kept_courses(lab, ledger), early_warm_ups(lab, ledger), known)


def kept_courses(lab: "Lab", ledger: "Ledger") -> "Mapping[str, Course]":
    """The calendars that the lab's windows follow, by window, as they were last read."""
    if all(window.timed for window in lab.windows):
        return {}
    from lamplighter.adapters.calendars.course import courses  # noqa: PLC0415 -- few labs follow a calendar

    copies = ledger.course_copies() if any(window.online for window in lab.windows) else {}
    return courses(lab, {window: copy.text for window, copy in copies.items() if copy.text is not None})


def early_warm_ups(lab: "Lab", ledger: "Ledger") -> dict[str, timedelta]:
    """How long the pools take whose windows have `ready: by`."""
    return {pool: warm_up(pool, ledger) for pool in early_pools(lab)}


def early_pools(lab: "Lab") -> list[str]:
    """The pools whose windows have `ready: by`."""
    return [*dict.fromkeys(lab.pool_of(window) for window in lab.windows if window.ready == "by")]


def warm_up(pool: str, ledger: "Ledger") -> timedelta:
    """How long a pool takes until its GPUs are ready, from the receipts of its last leases."""
    return measured(receipt.get("minutes_to_ready") for receipt in ledger.receipts_in_brief(pool, READ))
