"""What people do on the demo's day, and when: an extension, a request too many, a stale command, a node by hand.

Every action uses a way that exists on AWS, too: the command line, or the AWS API with a person's key.
"""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lamplighter.domain.commands.command import Command, Verb
from local.demo.observations import Pool

EXPIRED_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LabAccess:
    """How a person reaches the lab: the environment of any AWS SDK program, and two API clients."""

    environment: Mapping[str, str]
    eks: Any
    stepfunctions: Any
    open_lab: str


@dataclass
class Answers:
    """The answers to the requests; None until they are refused."""

    over_budget: str | None = None
    stale_execution: str | None = None
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Act:
    """One action of a person at an instant."""

    at: datetime
    who: str
    what: str
    kind: str
    do: Callable[[], None]


def acts(opens: datetime, closes: datetime, pool: Pool, doors: LabAccess, answers: Answers) -> list[Act]:
    """The day's actions in order, around one window [opens, closes)."""
    return [
        Act(
            closes - timedelta(minutes=15),
            "instructor",
            "extends the evening by 15 minutes from the command line",
            "command",
            lambda: extend(doors, pool, 15, answers),
        ),
        Act(
            closes - timedelta(minutes=5),
            "a retry",
            "delivers a command to open that expired an hour ago",
            "command",
            lambda: replay(doors, pool, opens, answers),
        ),
        Act(
            closes + timedelta(minutes=25),
            "instructor",
            "asks for 2 nodes for 3 hours, more than the budget has left",
            "command",
            lambda: ask_too_much(doors, pool, answers),
        ),
        Act(
            closes + timedelta(minutes=40),
            "somebody",
            "sets the node group to 1 by hand, outside any lease",
            "breach",
            lambda: _by_hand(doors, pool),
        ),
    ]


def command_line(doors: LabAccess, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs `lamplighter` with these words, as a program of its own."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *words],
        env={**os.environ, **doors.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def extend(doors: LabAccess, pool: Pool, minutes: int, answers: Answers) -> None:
    """Extends the running lease."""
    done = command_line(doors, "extend", pool.name, f"{minutes}m", "--json")
    if done.returncode != 0:
        answers.failures.append(f"the extension was not granted: {(done.stdout + done.stderr).strip()}")


def ask_too_much(doors: LabAccess, pool: Pool, answers: Answers) -> None:
    """Asks for more than the budget has left."""
    asked = ("open", pool.name, "2", "for", "3h", "because", "more is more", "--json")
    done = command_line(doors, *asked)
    reason = str(json.loads(done.stdout)["reason"]) if done.returncode == 1 else done.stderr.strip()
    if done.returncode == 1 and "would cost" in reason:
        answers.over_budget = reason
    else:
        answers.failures.append(f"an ask beyond the budget ended {done.returncode}: {reason}")


def replay(doors: LabAccess, pool: Pool, opens: datetime, answers: Answers) -> None:
    """Delivers a command to open that expired an hour before `opens`."""
    command = Command(
        id=f"stale-{uuid.uuid4().hex[:8]}",
        verb=Verb.OPEN,
        pool=pool.name,
        owner="evening-class",
        by="a retry",
        source="event",
        issued=opens - 2 * EXPIRED_FOR,
        expires=opens - EXPIRED_FOR,
        nodes=1,
        lasting=timedelta(hours=1),
        because="a delivery that was delayed",
    )
    started = doors.stepfunctions.start_execution(
        stateMachineArn=doors.open_lab,
        name=command.id,
        input=json.dumps({"command": command.to_json()}),
    )
    answers.stale_execution = str(started["executionArn"])


def _by_hand(doors: LabAccess, pool: Pool) -> None:
    doors.eks.update_nodegroup_config(
        clusterName=pool.cluster, nodegroupName=pool.nodegroup, scalingConfig={"minSize": 0, "desiredSize": 1}
    )
