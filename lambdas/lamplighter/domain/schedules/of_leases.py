"""Which schedules a lease needs at this moment, and when it may open with the present pauses.

The planner creates them, and the guard's sweep compares them; both ask here. schedule.py says what each one sends.
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
    look_schedules,
    looks,
    open_command,
    open_schedule,
    opening,
    warn_schedules,
    warnings,
)

MISSED_AFTER = timedelta(minutes=5)
"""An opening without a decision by then was missed: the lab starts it again, under another name."""


def wanted_schedules(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause] = ()
) -> list[Schedule]:
    """The schedules that should exist for a lease."""
    return [schedule for schedule in _schedules(lease, workflow_arns, now, pauses) if schedule.at > now]


def firing(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause] = ()
) -> list[str]:
    """Names of the schedules that are due and may not have run yet: Scheduler takes up to a minute."""
    instants = schedule_instants(lease, workflow_arns, now, pauses)
    return [name for name, at in instants.items() if now - NEAREST < at <= now]


def schedule_instants(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause]
) -> dict[str, datetime]:
    """When each schedule of a lease runs, by name: enough to compare them, without what they send."""
    if lease.state is LeaseState.CLOSING or lease.state in OVER:
        return {}
    opens = opens_at(lease, pauses, now) if unopened(lease) else None
    begins = {} if opens is None else {**looks(lease, workflow_arns), f"open-{lease.id}": opens}
    return begins | warnings(lease, workflow_arns) | {f"close-{lease.id}": lease.closes}


def _schedules(
    lease: Lease, workflow_arns: WorkflowArns, now: datetime, pauses: Sequence[Pause]
) -> list[Schedule]:
    if lease.state is LeaseState.CLOSING or lease.state in OVER:
        return []
    schedules = [*warn_schedules(lease, workflow_arns), close_schedule(lease, workflow_arns)]
    opens = opens_at(lease, pauses, now)
    if unopened(lease) and opens is not None:
        opens_lab = (
            open_schedule(lease, workflow_arns)
            if opens == lease.opens
            else _late(lease, workflow_arns, opens)
        )
        schedules[:0] = [*look_schedules(lease, workflow_arns), opens_lab]
    return schedules


def opens_at(lease: Lease, pauses: Sequence[Pause], now: datetime) -> datetime | None:
    """When a lease opens: at its instant, or when a pause ends; None where the pause outlasts the lease."""
    opens = lease.opens
    while (pause := paused_at(pauses, max(opens, now))) is not None:
        if pause.until is None or pause.until >= lease.closes:
            return None
        opens = pause.until
    return opens


def opening_now(lease: Lease, workflow_arns: WorkflowArns, now: datetime) -> Start:
    """The start that opens a lease that is due; one that was missed or held back gets another name.

    Step Functions accepts a name once in 90 days, and the first start may have failed.
    """
    if now - lease.opens <= MISSED_AFTER:
        return opening(lease, workflow_arns)
    return _late_start(lease, workflow_arns, now.replace(minute=now.minute - now.minute % 15))


def held_back(leases: Iterable[Lease], pauses: Iterable[Pause], now: datetime) -> frozenset[str]:
    """Leases that became due in a pause: granted, not opened, so that they justify no node."""
    in_force = [pause for pause in pauses if pause.in_force(now)]
    return frozenset(
        lease.id
        for lease in leases
        if lease.state is LeaseState.ADMITTED
        and lease.ordered is None
        # A pause that began after the opening changes nothing for the lease.
        and any(pause.at <= lease.opens for pause in in_force)
    )


def unopened(lease: Lease) -> bool:
    """Whether no run has opened the lease yet."""
    return lease.state is LeaseState.PLANNED or (lease.state is LeaseState.ADMITTED and lease.ordered is None)


def _late(lease: Lease, workflow_arns: WorkflowArns, opens: datetime) -> Schedule:
    start = _late_start(lease, workflow_arns, opens)
    sent = {"StateMachineArn": start.workflow, "Name": start.name, "Input": start.input}
    return replace(open_schedule(lease, workflow_arns), at=opens, input=json.dumps(sent))


def _late_start(lease: Lease, workflow_arns: WorkflowArns, at: datetime) -> Start:
    # The lease keeps the name of its run by the command that opened it.
    name = f"open-{lease.id}-{at:%Y%m%dT%H%MZ}"[:80]
    return Start(workflow_arns.open_lab, name, replace(open_command(lease), id=name))
