"""The planner: every hour and at each deploy it turns windows into planned leases and schedules, 36 hours ahead.

It reconciles: it corrects schedules that people or accidents changed, and starts workflows that are overdue.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.adapters.aws.kept_courses import early_pools, warm_up
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.price_list import PriceList
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.prices import known, refresh
from lamplighter.application.capacity.reservations import note_reservation
from lamplighter.application.failures import going_on
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.logs import logger
from lamplighter.application.planner.announcements import PlannerNotices
from lamplighter.application.planner.budget_warnings import warn_of_budget
from lamplighter.application.planner.courses import Fetch, follow_courses
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.granting import outlook
from lamplighter.domain.granting.following import curfewed, follow, outlasting
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.leases.terms import terms as terms_of
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.planner import planner
from lamplighter.domain.schedules.drift import kept
from lamplighter.domain.schedules.of_leases import unopened
from lamplighter.domain.schedules.schedule import NEAREST, Start, names_of, open_schedule
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.reasons.reason import Said, reason

if TYPE_CHECKING:
    from lamplighter.domain.planner.planner import Calendar, CalendarInputs, Plan
    from lamplighter.lab.model import Lab

LONGEST_WINDOW = timedelta(hours=26)
"""A day by the wall clock, and the time that a clock change adds."""


@dataclass
class PlannerServices:
    """The services of the planner: leases, workflows and notices."""

    lease_services: LeaseServices
    workflows: Workflows
    notices: Notices
    extend_lease: str
    """The workflow that moves the end of a lease, by ARN."""
    prices: PriceList | None = None
    """AWS's price list, read once a day; without it the kept and the shipped prices count."""
    reservations: Callable[[], Reservations] = Reservations
    """EC2, for a reservation that no sweep has read yet, as at a deploy."""
    fetch: Fetch | None = None
    """Reads a course calendar's address; left out: over https."""


def plan_all(planner_services: PlannerServices) -> dict[str, object]:
    """Bring the ledger and the schedules to what the lab's windows, people and leases ask for.

    A pool that cannot be read keeps what is planned, and the others are planned all the same. Raises OutsideFailed at
    the end where anything failed.
    """
    ledger, now = planner_services.lease_services.ledger, planner_services.lease_services.now()
    failures: list[str] = []
    lab, terms, unknown, unread = _terms(planner_services, failures)
    if not any(lab.pools[pool].unstated for pool in unread):
        # Else it would replace the last known values of such a pool.
        ledger.put_document(lab.to_json(), now)
    # Reading a slow address comes first: the rest must still be true when the planner acts on it.
    notices = planner_services.notices
    courses = follow_courses(lab, ledger, notices, now, planner_services.fetch, failures=failures)
    unread |= {lab.pool_of(window) for window in lab.windows if courses is None and not window.timed}
    # Names, then leases: a lease is written before its schedule, so each schedule here has its lease.
    present = [one.name for one in planner_services.lease_services.windows.listed()]
    skips, pauses = ledger.skips(), ledger.pauses()
    known: dict[str, list[Lease]] = {}
    for pool in lab.pools:
        with going_on(failures, f"pool {pool}"):
            known[pool] = ledger.leases(pool)
    warm_ups: dict[str, timedelta] = {}
    for pool in early_pools(lab):
        with going_on(failures, f"pool {pool}"):
            warm_ups[pool] = warm_up(pool, ledger)
    unread |= {*early_pools(lab)} - warm_ups.keys()
    put_off = [] if paused_at(pauses, now) else _put_off(known, present, planner_services, now, failures)
    planner_services.lease_services.windows.delete(put_off)
    present = [name for name in present if name not in put_off]
    beside = planner.CalendarInputs(courses or {}, warm_ups, known)
    calendar = planner.calendar(lab, terms, skips, now, now + planner.HORIZON, beside=beside)
    # A lab that is being destroyed opens nothing; the last close closes open pools.
    ahead = (
        []
        if any(pause.closing for pause in pauses)
        else _foreseen(calendar.leases, known, terms, ledger, failures)
    )
    ends = _ends(lab, terms, calendar, now, beside)
    planner_notices = PlannerNotices(lab, ledger, notices, now)
    wanted_names, done = set[str](), set[str]()
    workflow_arns = planner_services.lease_services.workflow_arns
    planned, started = list[str](), list[str]()
    for pool, leases in known.items():
        with going_on(failures, f"pool {pool}"):
            wanted = (
                _still_planned(leases, now) if pool in unread else [one for one in ahead if one.pool == pool]
            )
            made = planner.plan(wanted, leases, workflow_arns, now, pauses, present=present)
            wanted_names |= {schedule.name for schedule in made.schedules} | set(made.firing)
            _write(made, leases, calendar.notes, planner_notices, planner_services, now)
            _schedule(pool, made, leases, planner_notices, planner_services, now)
            planned += [lease.id for lease in made.write]
            started += [start.name for start in made.start if _start(start, leases, planner_services)]
            started += _follow(leases, ends, terms.get(pool), planner_services, now)
            done.add(pool)
    # What a pool that failed still needs is not known: the schedules of its leases stay.
    wanted_names |= {
        name
        for pool in known.keys() - done
        for lease in known[pool]
        for name in names_of(lease.id, workflow_arns)
    }
    stale = [name for name in present if name not in wanted_names and not kept(name, workflow_arns)]
    stale = stale if known.keys() == lab.pools.keys() else []
    planner_services.lease_services.windows.delete(stale)
    planner_notices.do_not_open(calendar.skipped, failures)
    planner_notices.classes_unused(known, courses or {}, failures)
    warn_of_budget(lab, terms, beside, skips, pauses, ledger, planner_notices, now, failures)
    if done:
        ledger.note_planned(now)
    if failures:
        raise OutsideFailed("; ".join(failures))
    return {"planned": planned, "started": started, "unscheduled": stale, "unknown": unknown}


def _still_planned(known: Iterable[Lease], now: datetime) -> list[Lease]:
    """The windows ahead of a pool as they were planned before it could not be read."""
    ahead = [lease for lease in known if lease.closes > now and lease.window is not None]
    return [lease for lease in ahead if lease.state is LeaseState.PLANNED]


def _put_off(
    known: Mapping[str, Sequence[Lease]],
    present: Collection[str],
    planner_services: PlannerServices,
    now: datetime,
    failures: list[str],
) -> list[str]:
    """The schedules of openings that a pause had put off and that are due, because it ended early.

    The planner starts these openings now; their schedules would prevent that, or open the lease a second time.
    """
    windows, found = planner_services.lease_services.windows, []
    for lease in (one for leases in known.values() for one in leases):
        if not unopened(lease) or lease.opens > now + NEAREST or lease.closes <= now:
            continue
        name = open_schedule(lease, planner_services.lease_services.workflow_arns).name
        with going_on(failures, f"pool {lease.pool}"):
            put = windows.read(name) if name in present else None
            if put is not None and put.at > max(lease.opens, now):
                found.append(name)
    return found


def _foreseen(
    wanted: Sequence[Lease],
    known: Mapping[str, Sequence[Lease]],
    terms: Mapping[str, Terms],
    ledger: Ledger,
    failures: list[str],
) -> list[Lease]:
    """The windows ahead; those that will be refused have the reason, where the budget of their period is known."""
    there = {lease.id: lease for leases in known.values() for lease in leases}
    planned = [one for one in wanted if one.id not in there or there[one.id].state is LeaseState.PLANNED]
    granted = [lease for lease in there.values() if lease.granted]
    budgets: dict[str, BudgetPeriod] = {}
    for lease in {lease.period: lease for lease in planned}.values():
        with going_on(failures, f"budget of {lease.period}"):
            budgets[lease.period] = ledger.budget(lease.period, terms[lease.pool].budget.currency)
    planned = [lease for lease in planned if lease.period in budgets]
    refused = outlook.refusals(planned, granted, terms, budgets)
    said = {name: refusal.reason for name, refusal in refused.items()}
    return [replace(lease, refusal=said.get(lease.id)) for lease in wanted]


def _ends(
    lab: "Lab", terms: Mapping[str, Terms], calendar: "Calendar", now: datetime, beside: "CalendarInputs"
) -> dict[str, datetime]:
    """The end of every window of these days, by lease, with those that have just ended."""
    before = planner.calendar(lab, terms, (), now - LONGEST_WINDOW, now, beside=beside)
    return {
        lease.id: min(lease.closes, terms[lease.pool].reserved_until or lease.closes)
        for lease in (*before.leases, *calendar.leases)
    }


def _start(start: Start, known: Iterable[Lease], planner_services: PlannerServices) -> bool:
    """Start a workflow that is due, unless a run of it for the lease is still waiting."""
    lease = next((one for one in known if one.id == start.command.lease), None)
    opens_already = (
        lease is not None
        and lease.granted
        and start.workflow == planner_services.lease_services.workflow_arns.open_lab
    )
    if (
        opens_already
        and lease is not None
        and lease.run
        and planner_services.workflows.running(start.workflow, lease.run)
    ):
        return False
    return planner_services.workflows.start(start)


def _follow(
    known: Sequence[Lease],
    ends: Mapping[str, datetime],
    terms: Terms | None,
    planner_services: PlannerServices,
    now: datetime,
) -> list[str]:
    """Move running leases to the new ends of their reservations and windows, or to a new curfew, by commands that are
    announced.
    """
    cut = [] if terms is None else [outlasting(lease, terms, now) for lease in known]
    commands = [command for command in cut if command is not None]
    outlast = {command.lease for command in commands}
    known = [lease for lease in known if lease.id not in outlast]
    commands += [command for lease in known if (command := follow(lease, ends, now)) is not None]
    if terms is not None:
        commands += [command for lease in known if (command := curfewed(lease, terms, now)) is not None]
    starts = [Start(planner_services.extend_lease, command.id, command) for command in commands]
    return [start.name for start in starts if planner_services.workflows.start(start)]


def _schedule(  # noqa: PLR0917
    pool: str,
    made: "Plan",
    known: Iterable[Lease],
    planner_notices: PlannerNotices,
    planner_services: PlannerServices,
    now: datetime,
) -> None:
    """Write every schedule that is not as it should be; the trail names those that existed before."""
    windows = planner_services.lease_services.windows
    older = {lease.id for lease in known} - {lease.id for lease in made.write}
    put_back = []
    for schedule in made.schedules:
        if schedule.at > now + NEAREST and windows.read(schedule.name) != schedule:
            windows.put(schedule)
            if any(schedule.name.endswith(f"-{lease}") for lease in older):
                put_back.append(schedule.name)
    if put_back:
        planner_notices.put_right(pool, put_back)


def _terms(
    planner_services: PlannerServices, failures: list[str]
) -> tuple["Lab", dict[str, Terms], list[str], set[str]]:
    """The lab as AWS completes it, the terms of its pools, the problems of pools without terms, and the unread pools.

    A pool that does not exist in AWS or has no price gets no windows.
    """
    capacity = planner_services.lease_services.capacity
    lab, found, unknown = capacity.lab, dict[str, Terms](), list[str]()
    prices, unread = planner_services.prices, {*lab.pools}
    for pool in lab.pools:
        with going_on(failures, f"pool {pool}"):
            try:
                lab = capacity.as_found(pool, lab)
                if prices is not None and not refresh(
                    lab, pool, capacity.ledger, prices, planner_services.lease_services.now()
                ):
                    prices = None
                named = lab.pools[pool].reservation
                if named and capacity.ledger.reservation(pool, named) is None:
                    with going_on([], f"pool {pool}, reservation"):
                        note_reservation(capacity, pool, planner_services.reservations(), "planner")
                reservation = capacity.ledger.reservation(pool, named)
                found[pool] = terms_of(lab, pool, known(lab, pool, capacity.ledger), reservation)
            except BadInput as error:
                logger().warning("pool %s is not planned: %s", pool, error)
                unknown.append(str(error))
            unread.discard(pool)
    return lab, found, unknown, unread


def _write(  # noqa: PLR0917
    made: "Plan",
    known: Iterable[Lease],
    notes: Mapping[str, Said],
    planner_notices: PlannerNotices,
    planner_services: PlannerServices,
    now: datetime,
) -> None:
    ledger, before = planner_services.lease_services.ledger, {lease.id: lease for lease in known}
    for lease in made.write:
        old = before.get(lease.id)
        before_it = old.refusal if old else None
        told = planner_notices.outlook(lease, before_it)
        ledger.plan(lease if told else replace(lease, refusal=before_it))
        if old is None or replace(old, refusal=lease.refusal) != lease:
            planner_notices.planned(lease, notes)
    for lease in made.take_back:
        if lease.closes <= now and not planner_notices.did_not_open(lease, _missed(lease, planner_services)):
            continue  # the next run finds it again
        ledger.unplan(lease.pool, lease.id)
        if lease.closes > now:
            planner_notices.taken_back(lease)


def _missed(lease: Lease, planner_services: PlannerServices) -> Said:
    """Why a planned window did not open in its time."""
    pause = paused_at(planner_services.lease_services.ledger.pauses(), lease.opens)
    return pause.reason() if pause else reason("calendar.missed")
