"""Which schedules a lease asks for at this moment, and when it may open as the pauses are now.

The one answer for whoever puts them (the planner) and whoever compares (the guard's sweep); what each of
them says is schedule.py's.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.domain.calendar.changes import Pause, paused_at
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.domain.schedules.schedule import (
    NEAREST,
    Schedule,
    Start,
    WorkflowArns,
    close_schedule,
    open_command,
    open_schedule,
    opening,
    warn_schedules,
)

MISSED_AFTER = timedelta(minutes=5)
"""An opening that nobody has decided on by then was missed: its start is made anew, under another name."""


def wanted_schedules(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause] = ()
) -> list[Schedule]:
    """The schedules that should exist for a lease, whatever exists."""
    return [shot for shot in _shots(lease, workflow_arns, now, pauses) if shot.at > now]


def firing(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause] = ()
) -> list[str]:
    """Those that are due and may not have fired yet: Scheduler takes up to a minute."""
    return [shot.name for shot in _shots(lease, workflow_arns, now, pauses) if now - NEAREST < shot.at <= now]


def _shots(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause]
) -> list[Schedule]:
    if lease.state is LeaseState.CLOSING or lease.state in OVER:
        return []
    shots = [*warn_schedules(lease, workflow_arns), close_schedule(lease, workflow_arns)]
    opens = opens_at(lease, pauses, now)
    if unopened(lease) and opens is not None:
        shots.insert(
            0,
            open_schedule(lease, workflow_arns)
            if opens == lease.opens
            else _late(lease, workflow_arns, opens),
        )
    return shots


def opens_at(lease: Lease, pauses: Sequence[Pause], now: datetime) -> datetime | None:
    """When a lease opens: at its instant, or late, when a pause ends; None when no pause's end is in time."""
    opens = lease.opens
    while (pause := paused_at(pauses, max(opens, now))) is not None:
        if pause.until is None or pause.until >= lease.closes:
            return None
        opens = pause.until
    return opens


def opening_now(lease: Lease, workflow_arns: WorkflowArns, now: datetime) -> Start:
    """What opens a lease whose time has come; one that was missed or held back gets a name of its own.

    A name is used once in 90 days, and the first start may have come to nothing.
    """
    if now - lease.opens <= MISSED_AFTER:
        return opening(lease, workflow_arns)
    return _late_start(lease, workflow_arns, now.replace(minute=now.minute - now.minute % 15))


def held_back(leases: Iterable[Lease], pauses: Iterable[Pause], now: datetime) -> frozenset[str]:
    """The leases whose time has come in a pause: granted, not opened, and no reason to keep a node."""
    there = [pause for pause in pauses if pause.in_force(now)]
    return frozenset(
        lease.id
        for lease in leases
        if lease.state is LeaseState.ADMITTED
        and lease.ordered is None
        # A pause that came after its opening takes nothing from it.
        and any(pause.at <= lease.opens for pause in there)
    )


def unopened(lease: Lease) -> bool:
    """Whether a lease is still to be opened."""
    return lease.state is LeaseState.PLANNED or (lease.state is LeaseState.ADMITTED and lease.ordered is None)


def _late(lease: Lease, workflow_arns: WorkflowArns, opens: datetime) -> Schedule:
    start = _late_start(lease, workflow_arns, opens)
    sent = {"StateMachineArn": start.workflow, "Name": start.name, "Input": start.input}
    return replace(open_schedule(lease, workflow_arns), at=opens, input=json.dumps(sent))


def _late_start(lease: Lease, workflow_arns: WorkflowArns, at: datetime) -> Start:
    # The lease remembers its run by the command that opened it.
    name = f"open-{lease.id}-{at:%Y%m%dT%H%MZ}"[:80]
    return Start(workflow_arns.open_lab, name, replace(open_command(lease), id=name))
