"""The windows of a lab as rows: those to come with what becomes of each, and the leases that are over."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.checks.gpu_proof import together
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.capacity_word import PoolRecord
from lamplighter.domain.planner.planner import Calendar
from lamplighter.domain.views.lab_view import PastLease, WindowState, WindowView
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said
from lamplighter.values import instant
from lamplighter.values.zones import zone

if TYPE_CHECKING:
    from lamplighter.domain.doctor.readiness import Readiness


def windows(  # noqa: PLR0917
    lab: Lab,
    calendar: Calendar,
    leases: Mapping[str, Sequence[Lease]],
    skips: Sequence[Skip],
    now: datetime,
    until: datetime,
    records: Mapping[str, PoolRecord] | None = None,
    readinesses: "Mapping[str, Readiness] | None" = None,
) -> tuple[WindowView, ...]:
    """What is open or opens in [now, until), and what does not happen there, by date and opening.

    What the ledger has of a window counts over what the calendar would make of it.
    """
    known = {lease.id: lease for each in leases.values() for lease in each}
    ahead = {lease.id: lease for lease in calendar.leases if lease.opens < until}
    shown = [lease for lease in known.values() if _shown(lease, now, until)]
    shown += [lease for name, lease in ahead.items() if name not in known]
    rows = [
        _row(lab, lease, calendar.notes.get(lease.id, ""), (records or {}).get(lease.pool)) for lease in shown
    ]
    rows = [
        replace(row, readiness=(readinesses or {}).get(row.lease or ""))
        if row.state is WindowState.PLANNED
        else row
        for row in rows
    ]
    today, last = (at.astimezone(zone(lab.time_zone)).date().isoformat() for at in (now, until))
    pools = {window.name: lab.pool_of(window) for window in lab.windows}
    rows += [
        WindowView(
            skip.window,
            skip.date,
            pools.get(skip.window, ""),
            0,
            "",
            WindowState.SKIPPED,
            None,
            None,
            skip.reason(),
        )
        for skip in skips
        if today <= skip.date <= last
    ]
    rows += [
        WindowView(
            each.window, each.date.isoformat(), each.pool, 0, "", WindowState.SKIPPED, None, None, each.reason
        )
        for each in calendar.skipped
        if today <= each.date.isoformat() <= last
    ]
    return tuple(sorted(rows, key=lambda row: (row.date, row.opens or now, row.window or "")))


def past(receipts: Iterable[Mapping[str, object]]) -> tuple[PastLease, ...]:
    """Receipts as rows, the newest first."""
    rows = [_past(receipt) for receipt in receipts]
    return tuple(sorted(rows, key=lambda row: row.closed, reverse=True))


def _shown(lease: Lease, now: datetime, until: datetime) -> bool:
    if lease.state is LeaseState.CLOSED or lease.opens >= until:
        return False
    return lease.closes > now or lease.state is LeaseState.CLOSING


def _row(lab: Lab, lease: Lease, note: Said, record: PoolRecord | None) -> WindowView:
    states = {
        LeaseState.PLANNED: WindowState.PLANNED,
        LeaseState.ADMITTED: WindowState.PLANNED,
        LeaseState.REFUSED: WindowState.REFUSED,
        LeaseState.CLOSED: WindowState.CLOSED,
    }
    state = states.get(lease.state, WindowState.OPEN)
    because = lease.refusal or note
    if lease.refusal or lease.state is LeaseState.REFUSED:
        state, because = WindowState.REFUSED, lease.refusal or lease.because or ""
    date = lease.date or lease.opens.astimezone(zone(lab.time_zone)).date().isoformat()
    return WindowView(
        lease.window,
        date,
        lease.pool,
        lease.nodes,
        lease.owner,
        state,
        lease.opens,
        lease.closes,
        because,
        lease.id,
        record.outlook(lease.opens) if record and state is WindowState.PLANNED else None,
    )


def _past(receipt: Mapping[str, object]) -> PastLease:
    def text(key: str) -> str | None:
        return None if receipt.get(key) is None else str(receipt[key])

    verdicts, cost = receipt.get("verdicts"), receipt.get("cost")
    rows = [row for row in verdicts if isinstance(row, Mapping)] if isinstance(verdicts, list) else []
    # A receipt in brief says what they came to.
    verdict = together(rows) if rows else receipt.get("verdict")
    opened, ready = text("opened"), receipt.get("minutes_to_ready")
    return PastLease(
        lease=text("lease"),
        pool=str(receipt["pool"]),
        owner=text("owner"),
        window=text("window"),
        opened=instant.read(opened) if opened else None,
        closed=instant.read(str(receipt["closed"])),
        nodes=int(str(receipt.get("nodes") or 0)),
        node_seconds=int(str(receipt.get("node_seconds") or 0)),
        minutes_to_ready=float(ready) if isinstance(ready, int | float) else None,
        verdict=None if verdict is None else Outcome(str(verdict)),
        cost=Money.from_json(cost) if isinstance(cost, Mapping) else Money.zero("USD"),
    )
