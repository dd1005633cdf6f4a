"""The plan of a deployed lab over a range: its calendar with the skips, pauses and leases of its ledger.

The same document as a simulation's. Granted leases stay as they were granted; outlook.py judges the windows ahead
with the money that is held and spent.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from operator import attrgetter

from lamplighter.domain.calendar import early_opening
from lamplighter.domain.calendar.changes import Pause, Skip, paused_at, with_reason
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow, expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.granting import outlook
from lamplighter.domain.granting.admission import lack_of
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.planner.planner import CalendarInputs, calendar
from lamplighter.domain.planner.simulation import Simulation, reckoned
from lamplighter.domain.schedules.of_leases import opens_at, unopened
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import zones


@dataclass(frozen=True, slots=True)
class Deployed:
    """A lab with what its ledger has."""

    lab: Lab
    terms: Mapping[str, Terms]
    leases: Sequence[Lease]
    skips: Sequence[Skip] = ()
    pauses: Sequence[Pause] = ()
    beside: CalendarInputs | None = None

    def ahead(self, begins: datetime, ends: datetime, now: datetime) -> list[Lease]:
        """The planned leases of windows ahead that nobody has decided on."""
        decided = {lease.id for lease in self.leases if lease.state is not LeaseState.PLANNED}
        found = calendar(
            self.lab, self.terms, self.skips, max(begins, min(now, ends)), ends, beside=self.beside
        ).leases
        return [lease for lease in found if lease.id not in decided and lease.closes > now]


def live(
    deployed: Deployed, budgets: Mapping[str, BudgetPeriod], begins: datetime, ends: datetime, now: datetime
) -> Simulation:
    """What happens in [begins, ends); `budgets` are those of the periods of the leases `ahead`."""
    windows, skipped = list[PlannedWindow](), _refused(deployed, begins, ends)
    to_come = deployed.ahead(begins, ends, now)
    granted = [lease for lease in deployed.leases if lease.granted]
    refused = outlook.refusals(to_come, granted, deployed.terms, budgets)
    stands = [
        lease for lease in deployed.leases if lease.state not in {LeaseState.PLANNED, LeaseState.REFUSED}
    ]
    for lease in (*stands, *to_come):
        opens = opens_at(lease, deployed.pauses, now) if unopened(lease) else lease.opens
        if lease.id in refused:
            refusal = refused[lease.id]
            skipped.append(_skipped(lease, Code(refusal.lack.value), refusal.reason))
        elif opens is None:
            skipped.append(_skipped(lease, Code.EXCEPTED, _pause(lease, deployed, now)))
        elif opens < ends and lease.closes > begins:
            late = (
                [reason("calendar.opens-late", why=_pause(lease, deployed, now))]
                if opens != lease.opens
                else []
            )
            notes = [*_notes(lease), *late]
            windows.append(_window(replace(lease, opens=opens), deployed.lab, notes))
    skipped += _taken_out(deployed, begins, ends)
    return reckoned(
        deployed.lab,
        begins,
        ends,
        sorted(windows, key=attrgetter("opening", "window")),
        sorted(skipped, key=attrgetter("date", "order")),
        {pool: terms.price_per_hour for pool, terms in deployed.terms.items()},
    )


def _refused(deployed: Deployed, begins: datetime, ends: datetime) -> list[SkippedWindow]:
    """The windows of the range that were refused when their time came."""
    return [
        _skipped(lease, Code(lack_of(lease.because).value), lease.because)
        for lease in deployed.leases
        if lease.state is LeaseState.REFUSED
        and lease.window is not None
        and lease.opens < ends
        and lease.closes > begins
    ]


def _notes(lease: Lease) -> list[Said]:
    if lease.window is None:
        of_person = reason("calendar.of-person", owner=lease.owner, by=lease.by or lease.source)
        return [with_reason(of_person, lease.because)]
    if lease.ready_by is not None:
        opening, begins = (int(at.timestamp()) for at in (lease.opens, lease.ready_by))
        return [early_opening.note(opening, begins)]
    return []


def _window(lease: Lease, lab: Lab, notes: Iterable[Said]) -> PlannedWindow:
    return PlannedWindow(
        window=lease.window or lease.id,
        pool=lease.pool,
        date=_date(lease, lab),
        nodes=lease.nodes,
        opening=int(lease.opens.timestamp()),
        closing=int(lease.closes.timestamp()),
        notes=tuple(notes),
        owner=lease.owner,
        order=lease.order,
        ready_by=None if lease.ready_by is None else int(lease.ready_by.timestamp()),
        event=lease.id.removeprefix(f"{lease.window}-{lease.date}").removeprefix("-") if lease.window else "",
    )


def _date(lease: Lease, lab: Lab) -> date:
    if lease.date:
        return date.fromisoformat(lease.date)
    return lease.opens.astimezone(zones.zone(lab.time_zone)).date()


def _skipped(lease: Lease, code: Code, why: Said | None) -> SkippedWindow:
    on = date.fromisoformat(lease.date) if lease.date else lease.opens.date()
    return SkippedWindow(
        lease.window or lease.id, lease.pool, on, code, why or reason("calendar.refused"), lease.order
    )


def _pause(lease: Lease, deployed: Deployed, now: datetime) -> Said:
    pause = paused_at(deployed.pauses, max(lease.opens, now))
    return pause.reason() if pause else reason("calendar.was-paused")


def _taken_out(deployed: Deployed, begins: datetime, ends: datetime) -> list[SkippedWindow]:
    """The openings that the calendar leaves out, and those that people skipped."""
    beside = deployed.beside or CalendarInputs()
    expansion = expand(deployed.lab, begins, ends, beside.courses)
    by_date = {(skip.window, skip.date): skip for skip in deployed.skips}
    return [
        *expansion.skipped,
        *(
            SkippedWindow(one.window, one.pool, one.date, Code.EXCEPTED, skip.reason(), one.order)
            for one in expansion.windows
            if (skip := by_date.get((one.window, one.date.isoformat()))) is not None
        ),
    ]
