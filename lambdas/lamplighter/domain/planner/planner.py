"""The leases and schedules that a lab needs for the next 36 hours, and which of them are missing.

Owns the comparison: planned leases to write and to take back, schedules that should exist, and workflows to start
at once. occurrences.py turns windows into instants; grant.py grants leases.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from lamplighter.domain.calendar import early_opening
from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow, expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.of_leases import (
    MISSED_AFTER,
    firing,
    opening_now,
    opens_at,
    unopened,
    wanted_schedules,
)
from lamplighter.domain.schedules.schedule import (
    CLOSE_GOOD_FOR,
    NEAREST,
    Schedule,
    Start,
    WorkflowArns,
    closing,
    open_command,
    open_schedule,
)
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, Sentences, reason
from lamplighter.values import zones

HORIZON = timedelta(hours=36)
STUCK_AFTER = timedelta(hours=1)
"""A close takes at most so long; the planner starts one that takes longer again."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The windows ahead as planned leases, and those that do not happen."""

    leases: tuple[Lease, ...]
    skipped: tuple[SkippedWindow, ...]
    notes: Mapping[str, Said]
    """By lease: how it differs from its window in the lab file."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes after which ledger and schedules are as they should be."""

    write: tuple[Lease, ...]
    take_back: tuple[Lease, ...]
    schedules: tuple[Schedule, ...]
    """All schedules that should exist."""
    start: tuple[Start, ...]
    firing: tuple[str, ...] = ()
    """Schedules that are due now: Scheduler deletes them itself."""


@dataclass(frozen=True, slots=True)
class CalendarInputs:
    """What a lab's calendar depends on beside the lab file."""

    courses: Mapping[str, Course] = field(default_factory=dict)
    """The course calendars that windows follow, by window."""
    warm_ups: Mapping[str, timedelta] = field(default_factory=dict)
    """How long pools take until their GPUs are ready, as measured."""
    known: Mapping[str, Sequence[Lease]] = field(default_factory=dict)
    """The leases in the ledger, by pool: no window opens early while they have the nodes."""


def calendar(
    lab: Lab,
    terms: Mapping[str, Terms],
    skips: Iterable[Skip],
    begins: datetime,
    ends: datetime,
    *,
    beside: CalendarInputs | None = None,
) -> Calendar:
    """The windows that meet [begins, ends), without those that people took out."""
    beside = beside or CalendarInputs()
    expansion = expand(lab, begins, ends, beside.courses, beside.warm_ups)
    taken_out = {(skip.window, skip.date) for skip in skips}
    leases, skipped, notes = list[Lease](), list(expansion.skipped), dict[str, Said]()
    # A person who skipped a date has said so: no further reason is needed.
    asked = [
        window
        for window in expansion.windows
        if window.pool in terms and (window.window, window.date.isoformat()) not in taken_out
    ]
    most = {pool: each.max_nodes for pool, each in terms.items()}
    for window in early_opening.all_fitted(asked, lab, most, beside.known):
        money = terms[window.pool]
        closes = money.ends(window.opens, window.closes)
        if closes <= window.opens:
            skipped.append(_in_curfew(window))
            continue
        hold = money.hold(window.nodes, window.opens, closes)
        lease = planned_lease(window, closes, hold, money.period(window.opens).key)
        leases.append(lease)
        cut = () if closes == window.closes else (reason("calendar.ends-at", until=money.until(closes)),)
        if window.notes or cut:
            notes[lease.id] = Sentences((*window.notes, *cut))
    return Calendar(tuple(leases), tuple(skipped), notes)


def planned_lease(window: PlannedWindow, closes: datetime, hold: Money, period: str = "") -> Lease:
    """The lease of a window that is ahead: it ends at `closes`, and the budget of the period holds its money."""
    return Lease(
        id=window.lease,
        pool=window.pool,
        nodes=window.nodes,
        owner=window.owner,
        source="window",
        state=LeaseState.PLANNED,
        opens=window.opens,
        closes=closes,
        hold=hold,
        window=window.window,
        date=window.date.isoformat(),
        period=period,
        order=window.order,
        ready_by=None if window.ready_by is None else zones.instant(window.ready_by),
    )


def _in_curfew(window: PlannedWindow) -> SkippedWindow:
    """`check` refuses such windows; the planner alone knows the events of course calendars."""
    why = reason("calendar.in-curfew", opens=window.opens, pool=window.pool)
    return SkippedWindow(window.window, window.pool, window.date, Code.VANISHES, why, window.order)


def plan(
    wanted: Sequence[Lease],
    known: Sequence[Lease],
    workflow_arns: WorkflowArns,
    now: datetime,
    pauses: Sequence[Pause] = (),
    *,
    present: Collection[str] = (),
) -> Plan:
    """Compare the windows ahead with the leases of the ledger; both of one pool.

    `present` are the names of the schedules that there are.
    """
    by_id = {lease.id: lease for lease in known}
    write = [lease for lease in wanted if _is_new(lease, by_id.get(lease.id))]
    wanted_ids = {lease.id for lease in wanted}
    take_back = [
        lease
        for lease in known
        if lease.state is LeaseState.PLANNED and lease.window is not None and lease.id not in wanted_ids
    ]
    gone = {lease.id for lease in take_back}
    # A planned lease as it is wanted now, everything else as the ledger has it.
    standing = {lease.id: lease for lease in known if lease.id not in gone and lease.state not in OVER}
    standing |= {lease.id: lease for lease in write}
    leases = sorted(standing.values(), key=lambda lease: (lease.opens, lease.order, lease.id))
    return Plan(
        tuple(write),
        tuple(take_back),
        tuple(
            schedule for lease in leases for schedule in wanted_schedules(lease, workflow_arns, now, pauses)
        ),
        tuple(start for lease in leases for start in _starts(lease, workflow_arns, now, pauses, present)),
        tuple(name for lease in leases for name in firing(lease, workflow_arns, now, pauses)),
    )


def _is_new(wanted: Lease, known: Lease | None) -> bool:
    """Whether the ledger has no such lease yet, or a planned one that differs."""
    if known is None:
        return True
    return known.state is LeaseState.PLANNED and replace(known, because=None, by=None) != wanted


def _starts(
    lease: Lease,
    workflow_arns: WorkflowArns,
    now: datetime,
    pauses: Sequence[Pause],
    present: Collection[str],
) -> list[Start]:
    """The workflows to start without a schedule: due within moments, or overdue because a schedule was lost."""
    if lease.granted and lease.closes <= now:
        return [closing(lease, workflow_arns)]
    if lease.state is LeaseState.CLOSING and lease.closes + STUCK_AFTER <= now:
        return [_closing_again(lease, workflow_arns, now)]
    if not unopened(lease) or lease.closes <= now:
        return []
    opens = opens_at(lease, pauses, now)
    if opens is None or opens > now + NEAREST:
        return []
    # A granted lease is being opened already, unless it is long overdue.
    if (
        lease.granted
        and now - opens <= MISSED_AFTER
        and not _is_kept_from_opening(lease, workflow_arns, present)
    ):
        return []
    return [opening_now(lease, workflow_arns, now)]


def _is_kept_from_opening(lease: Lease, workflow_arns: WorkflowArns, present: Collection[str]) -> bool:
    """Whether a lease that was granted for later has no schedule, because a pause that is over deleted it."""
    return lease.run == open_command(lease).id and open_schedule(lease, workflow_arns).name not in present


def _closing_again(lease: Lease, workflow_arns: WorkflowArns, now: datetime) -> Start:
    name = f"close-again-{lease.id}-{now:%Y%m%dT%H}"
    command = Command(
        id=name,
        verb=Verb.CLOSE,
        pool=lease.pool,
        owner=lease.owner,
        by="planner",
        source="guard",
        issued=now,
        expires=now + CLOSE_GOOD_FOR,
        lease=lease.id,
        because=reason("calendar.close-again", lease=lease.called()),
    )
    return Start(workflow_arns.close_lab, name, command)
