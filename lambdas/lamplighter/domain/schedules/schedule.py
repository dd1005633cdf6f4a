"""One-time schedules as values: when each one runs, and what it sends.

This file has the schedules of a lease (look, open, warn, close). failsafe.py has those of the failsafe, of_leases.py
says which should exist, and the scheduler adapter creates them.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

START_EXECUTION = "arn:aws:scheduler:::aws-sdk:sfn:startExecution"
WARNINGS = (timedelta(minutes=15), timedelta(minutes=5))
NEAREST = timedelta(seconds=90)
"""A schedule runs up to a minute late, and Scheduler refuses one in the past: the lab runs a nearer one directly."""
RETRIED = timedelta(hours=1)
"""Longer than any outage worth waiting for; the commands inside carry their own expiry."""
WARNING_RETRIED = timedelta(minutes=5)
LEAST_RETRIED = timedelta(minutes=1)
"""The least that Scheduler accepts."""
CLOSE_GOOD_FOR = timedelta(days=1)
"""A late close does no harm: the lease is over by then."""
LONGEST_NAME = 80
"""Of an execution (https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html)."""
LOOK = "look-"
"""The prefix of schedules that a lab has only with `guard.look_again`."""
LONGEST_SCHEDULE = 64
"""Of a schedule's name (https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html)."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One call at an instant (UTC): a target, its input, and how long Scheduler retries the delivery."""

    name: str
    at: datetime
    target: str
    input: str
    retried: timedelta = RETRIED


@dataclass(frozen=True, slots=True)
class WorkflowArns:
    """What the schedules of windows start: the workflows and the function that warns, by ARN."""

    open_lab: str
    close_lab: str
    notices: str
    warnings: tuple[timedelta, ...] = WARNINGS
    """How long before the end of a lease its people are warned."""
    doctor: str = ""
    """The function that checks a window again before it opens; empty where the lab asks for no such check."""
    looks: tuple[timedelta, ...] = ()
    """How long before a window it does so."""


@dataclass(frozen=True, slots=True)
class Start:
    """One workflow to start: the same name means the same start, even if the lab asks for it twice."""

    workflow: str
    name: str
    command: Command

    @property
    def input(self) -> str:
        """The execution's input."""
        return json.dumps({"command": self.command.to_json()})


class Starts(Protocol):
    """Starts workflows by name."""

    def start(self, start: Start) -> bool:
        """Starts a workflow; False if it was started under this name before."""


def start_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of a length that AWS accepts; a longer one is cut and ends with the hash of the whole."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: longest - len(digest) - 1]}-{digest}"


class RunEnd(StrEnum):
    """How a run of a workflow ended without success."""

    FAILED = "failed"
    TIMED_OUT = "timed-out"
    ABORTED = "aborted"
    NEVER_STARTED = "never-started"


def opening(lease: Lease, workflow_arns: WorkflowArns) -> Start:
    """The start that opens a planned lease; an opening at another instant is another start."""
    command = open_command(lease)
    return Start(workflow_arns.open_lab, command.id, command)


def closing(lease: Lease, workflow_arns: WorkflowArns) -> Start:
    """The start that closes a lease at its end; another end is another start."""
    name = f"close-{lease.id}-{lease.closes:%Y%m%dT%H%M%SZ}"
    return Start(workflow_arns.close_lab, name, close_command(lease))


def open_schedule(lease: Lease, workflow_arns: WorkflowArns) -> Schedule:
    """Opens the lease at its instant. Scheduler does not deliver it after the lease's end."""
    return _starting(
        f"open-{lease.id}",
        lease.opens,
        opening(lease, workflow_arns),
        _at_most(RETRIED, lease.closes - lease.opens),
    )


def close_schedule(lease: Lease, workflow_arns: WorkflowArns) -> Schedule:
    """Closes the lease at its end."""
    return _starting(f"close-{lease.id}", lease.closes, closing(lease, workflow_arns))


def warnings(lease: Lease, workflow_arns: WorkflowArns) -> dict[str, datetime]:
    """When people are warned before the end, by name of the schedule, the earliest first.

    A short lease is warned half-way at the earliest.
    """
    instants: dict[str, datetime] = {}
    for ahead in sorted(set(workflow_arns.warnings), reverse=True):
        at = max(lease.closes - ahead, lease.opens + (lease.closes - lease.opens) / 2).replace(microsecond=0)
        if all(earlier < at for earlier in instants.values()):
            instants[_warning(lease.id, ahead)] = at
    return instants


def warn_schedules(lease: Lease, workflow_arns: WorkflowArns) -> tuple[Schedule, ...]:
    """Warn before the end."""
    run = {"command": close_command(lease).to_json(), "results": {}}
    sent = json.dumps({"step": "Warn", "run": run})
    return tuple(
        Schedule(name, at, workflow_arns.notices, sent, _at_most(WARNING_RETRIED, lease.closes - at))
        for name, at in warnings(lease, workflow_arns).items()
    )


def looks(lease: Lease, workflow_arns: WorkflowArns) -> dict[str, datetime]:
    """When a window that is ahead is checked again, by name of the schedule; a lease of a person is not."""
    if lease.window is None:
        return {}
    return {
        _look(lease.id, ahead): lease.opens - ahead
        for ahead in sorted(set(workflow_arns.looks), reverse=True)
    }


def look_schedules(lease: Lease, workflow_arns: WorkflowArns) -> tuple[Schedule, ...]:
    """Check a window again before it opens. Scheduler tries no delivery after the opening."""
    sent = json.dumps({"look": {"pool": lease.pool, "lease": lease.id}})
    return tuple(
        Schedule(name, at, workflow_arns.doctor, sent, _at_most(RETRIED, lease.opens - at))
        for name, at in looks(lease, workflow_arns).items()
    )


def names_of(lease: str, workflow_arns: WorkflowArns) -> tuple[str, ...]:
    """The names that a lease's schedules may have, including those of an earlier release."""
    warnings = (_warning(lease, ahead) for ahead in workflow_arns.warnings)
    looks = (_look(lease, ahead) for ahead in workflow_arns.looks)
    return (*looks, f"open-{lease}", f"warn-{lease}", *warnings, f"close-{lease}")


def _warning(lease: str, ahead: timedelta) -> str:
    return start_name(f"warn-{ahead // timedelta(minutes=1)}-{lease}", LONGEST_SCHEDULE)


def _look(lease: str, ahead: timedelta) -> str:
    return start_name(f"{LOOK}{ahead // timedelta(minutes=1)}-{lease}", LONGEST_SCHEDULE)


def open_command(lease: Lease) -> Command:
    """The command that opens a lease; it expires at the lease's end."""
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
    """The command that closes a lease at this end only: if the end moves, the command is stale."""
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
    """Scheduler tries no delivery after the instant from which it would be useless."""
    return max(LEAST_RETRIED, min(retried, timedelta(seconds=left // timedelta(seconds=1))))
