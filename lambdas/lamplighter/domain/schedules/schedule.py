"""One-time schedules as values: what fires when, and what it sends.

Owns the window schedules of a lease (open, warn, close); the failsafe's are in failsafe.py, which of
them should exist is planner.py's, putting them there the scheduler adapter's.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

START_EXECUTION = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
WARNINGS = (timedelta(minutes=15), timedelta(minutes=5))
# A schedule fires up to a minute late, and one in the past is refused: nearer ones are run directly.
NEAREST = timedelta(seconds=90)
# Longer than any outage worth waiting for; the commands inside carry their own expiry.
RETRIED = timedelta(hours=1)
WARNING_RETRIED = timedelta(minutes=5)
# Scheduler takes no less.
LEAST_RETRIED = timedelta(minutes=1)
# What a close may still do when it comes late: the lease is over by then, so it can do no harm.
CLOSE_GOOD_FOR = timedelta(days=1)
LONGEST_NAME = 80
"""Of an execution (https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html)."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One shot at an instant (UTC): a target, its input, and how long its delivery is retried."""

    name: str
    at: datetime
    target: str
    input: str
    retried: timedelta = RETRIED


@dataclass(frozen=True, slots=True)
class WorkflowArns:
    """Where the schedules of windows lead: the workflows and the function that warns, by ARN."""

    open_lab: str
    close_lab: str
    notices: str
    warnings: tuple[timedelta, ...] = WARNINGS
    """How long before its end a lease is warned of."""


@dataclass(frozen=True, slots=True)
class Start:
    """One workflow to start: the same name means the same start, however often it is asked for."""

    workflow: str
    name: str
    command: Command

    @property
    def input(self) -> str:
        """The execution's input."""
        return json.dumps({"command": self.command.to_json()})


def start_name(name: str) -> str:
    """A name as Step Functions takes it; of one that is too long the whole counts, its end included."""
    if len(name) <= LONGEST_NAME:
        return name
    told = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - len(told) - 1]}-{told}"


def opening(lease: Lease, workflow_arns: WorkflowArns) -> Start:
    """What opens a planned lease; a moved opening is another start."""
    command = open_command(lease)
    return Start(workflow_arns.open_lab, command.id, command)


def closing(lease: Lease, workflow_arns: WorkflowArns) -> Start:
    """What closes a lease at its end; a moved end is another start."""
    name = f"close-{lease.id}-{lease.closes:%Y%m%dT%H%M%SZ}"
    return Start(workflow_arns.close_lab, name, close_command(lease))


def open_schedule(lease: Lease, workflow_arns: WorkflowArns) -> Schedule:
    """Opens the lease at its instant; delivered late, it may not come after its end."""
    return _starting(
        f"open-{lease.id}",
        lease.opens,
        opening(lease, workflow_arns),
        _at_most(RETRIED, lease.closes - lease.opens),
    )


def close_schedule(lease: Lease, workflow_arns: WorkflowArns) -> Schedule:
    """Closes the lease at its end."""
    return _starting(f"close-{lease.id}", lease.closes, closing(lease, workflow_arns))


def warn_schedules(lease: Lease, workflow_arns: WorkflowArns) -> tuple[Schedule, ...]:
    """Warn before the end, the longest ahead first; half-way through a lease shorter than twice that."""
    run = {"command": close_command(lease).to_json(), "results": {}}
    shots: list[Schedule] = []
    for ahead in sorted(set(workflow_arns.warnings), reverse=True):
        at = max(lease.closes - ahead, lease.opens + (lease.closes - lease.opens) / 2).replace(microsecond=0)
        if shots and at <= shots[-1].at:
            continue
        name = _warning(lease.id, ahead)
        retried = _at_most(WARNING_RETRIED, lease.closes - at)
        shots.append(
            Schedule(name, at, workflow_arns.notices, json.dumps({"step": "Warn", "run": run}), retried)
        )
    return tuple(shots)


def names_of(lease: str, workflow_arns: WorkflowArns) -> tuple[str, ...]:
    """The names that a lease's schedules may have, an earlier release's included."""
    warnings = (_warning(lease, ahead) for ahead in workflow_arns.warnings)
    return (f"open-{lease}", f"warn-{lease}", *warnings, f"close-{lease}")


def _warning(lease: str, ahead: timedelta) -> str:
    return f"warn-{ahead // timedelta(minutes=1)}-{lease}"


def open_command(lease: Lease) -> Command:
    """The command of a window whose time has come; good for as long as the window lasts."""
    return Command(
        id=f"open-{lease.id}-{lease.opens:%Y%m%dT%H%M%SZ}"[:80],
        verb=Verb.OPEN,
        pool=lease.pool,
        owner=lease.owner,
        by=lease.by or f"window {lease.window}",
        source=lease.source,
        issued=lease.opens,
        expires=lease.closes,
        lease=lease.id,
        nodes=lease.nodes,
        opens=lease.opens,
        closes=lease.closes,
        window=lease.window,
        date=lease.date,
        because=lease.because,
    )


def close_command(lease: Lease) -> Command:
    """The command that closes a lease at its end, and at that end only: one for a moved end is stale."""
    return Command(
        id=f"close-{lease.id}-{instant.written(lease.closes)}",
        verb=Verb.CLOSE,
        pool=lease.pool,
        owner=lease.owner,
        by=f"window {lease.window}" if lease.window else lease.owner,
        source=lease.source,
        issued=lease.closes,
        expires=lease.closes + CLOSE_GOOD_FOR,
        lease=lease.id,
        closes=lease.closes,
        window=lease.window,
        date=lease.date,
        because=reason("lease.ended-at", lease=lease.called(), at=lease.closes),
    )


def _starting(name: str, at: datetime, start: Start, retried: timedelta = RETRIED) -> Schedule:
    sent = {"StateMachineArn": start.workflow, "Name": start.name, "Input": start.input}
    return Schedule(name, at, START_EXECUTION, json.dumps(sent), retried)


def _at_most(retried: timedelta, left: timedelta) -> timedelta:
    """No delivery is tried after it has lost its sense."""
    return max(LEAST_RETRIED, min(retried, timedelta(seconds=left // timedelta(seconds=1))))
