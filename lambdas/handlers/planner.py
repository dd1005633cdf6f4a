"""The planner: hourly and at each deploy, windows become leases-to-be and schedules, 36 hours ahead.

Reconciles: what people or accidents changed about the schedules is put right, what is overdue is started.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from handlers.desk import Desk, desk
from handlers.environment import ENVIRONMENT
from handlers.logs import logger
from handlers.prices import known, refresh
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.audit import Entry
from lamplighter.domain.commands import Decision
from lamplighter.domain.schedule import NEAREST
from lamplighter.domain.terms import Terms
from lamplighter.domain.terms import terms as terms_of
from lamplighter.errors import BadInput

if TYPE_CHECKING:
    from lamplighter.domain.calendar import SkippedWindow
    from lamplighter.domain.planner import Plan
    from lamplighter.lab import Lab


@dataclass
class Office:
    """The desk, and what the planner alone does: start what is due, say what does not happen."""

    desk: Desk
    workflows: Workflows
    notices: Notices
    prices: PriceList | None = None
    """AWS's price list, asked once a day; without it the kept and the shipped prices stand."""


def handler(_event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point: whatever wakes it, it plans."""
    done = plan_all(_office())
    logger().info("planned", extra=done)
    return done


def plan_all(office: Office) -> dict[str, object]:
    """Bring ledger and schedules to what the lab's windows and the leases ask for."""
    from lamplighter.domain import planner  # noqa: PLC0415 -- the calendar brings pydantic: not at import

    ledger, now = office.desk.ledger, office.desk.now()
    lab, terms, unknown = _terms(office)
    ledger.put_document(lab.to_json(), now)
    calendar = planner.calendar(lab, terms, ledger.skips(), now, now + planner.HORIZON)
    # Names first: whoever puts a schedule writes its lease before, so a name seen here has its lease.
    present = [name for prefix in planner.PREFIXES for name in office.desk.windows.names(prefix)]
    wanted_names: set[str] = set()
    planned: list[str] = []
    started: list[str] = []
    for pool in lab.pools:
        wanted = [lease for lease in calendar.leases if lease.pool == pool]
        made = planner.plan(wanted, ledger.leases(pool), office.desk.doors, now)
        wanted_names |= {schedule.name for schedule in made.schedules}
        _write(made, calendar.notes, office, now)
        for schedule in made.schedules:
            if schedule.at > now + NEAREST and office.desk.windows.read(schedule.name) != schedule:
                office.desk.windows.put(schedule)
        planned += [lease.id for lease in made.write]
        started += [start.name for start in made.start if office.workflows.start(start)]
    stale = [name for name in present if name not in wanted_names]
    office.desk.windows.delete(stale)
    for skipped in calendar.skipped:
        _say_skipped(skipped, office, now)
    return {"planned": planned, "started": started, "unscheduled": stale, "unknown": unknown}


def _terms(office: Office) -> tuple["Lab", dict[str, Terms], list[str]]:
    """The lab as AWS completes it, and the terms of every pool that has any.

    A pool without a node group or a price gets no windows; the list says why.
    """
    capacity = office.desk.capacity
    lab, found, unknown = capacity.lab, dict[str, Terms](), list[str]()
    for pool in lab.pools:
        try:
            lab = capacity.as_found(pool, lab)
            if office.prices is not None:
                refresh(lab, pool, capacity.ledger, office.prices, office.desk.now())
            found[pool] = terms_of(lab, pool, known(lab, pool, capacity.ledger))
        except BadInput as error:
            logger().warning("pool %s is not planned: %s", pool, error)
            unknown.append(str(error))
    return lab, found, unknown


def _write(made: "Plan", notes: Mapping[str, str], office: Office, now: datetime) -> None:
    ledger = office.desk.ledger
    for lease in made.write:
        ledger.plan(lease)
        what = f"planned {lease.called()} on pool {lease.pool}"
        why = notes.get(lease.id) or f"window {lease.window} of the lab names {lease.date}"
        ledger.append_audit(Entry(now, lease.pool, "planned", "planner", what, why, lease.id, lease.nodes))
    for lease in made.take_back:
        ledger.unplan(lease.pool, lease.id)
        what = f"took back {lease.called()} on pool {lease.pool}"
        why = "the lab or a person no longer has it in the calendar"
        ledger.append_audit(Entry(now, lease.pool, "unplanned", "planner", what, why, lease.id))


def _say_skipped(skipped: "SkippedWindow", office: Office, now: datetime) -> None:
    """Say once that a window does not happen, and why."""
    decision = Decision(f"skip-{skipped.window}-{skipped.date}", "skipped", skipped.reason, now)
    what = f"window {skipped.window} does not open on {skipped.date}"
    entry = Entry(now, skipped.pool, "skipped", "planner", what, skipped.reason)
    if office.desk.ledger.decide(skipped.pool, decision, entry):
        lab = office.desk.capacity.lab.name
        office.notices.say(f"{lab}: {what}", f"{skipped.reason[:1].upper()}{skipped.reason[1:]}.")


@cache
def _office() -> Office:
    return Office(desk(), Workflows(), Notices(ENVIRONMENT.notices_topic), PriceList())
