"""The rails of a run: schedules that restore it where nothing else does, armed before the first change.

Security-group rules are put back by EC2 itself, with no function of ours; whatever else there is, by the
workflow that the schedule starts. Each fires twice: after the run's own length, and ahead of its lease's end.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.catalogue import Touches
from lamplighter.domain.experiments.rules import TrafficRule
from lamplighter.domain.experiments.run import MARGIN, ExperimentRun
from lamplighter.domain.schedules.schedule import START_EXECUTION, Schedule, Start
from lamplighter.reasons.fields import from_document
from lamplighter.reasons.reason import Said, reason

AUTHORIZE = "arn:aws:scheduler:::aws-sdk:ec2:authorizeSecurityGroupIngress"
PREFIX = "experiment-"
AFTER_END = timedelta(minutes=2)
"""The workflow itself restores at the end. EC2 refuses a schedule's call where the rule exists already."""
GOOD_FOR = timedelta(days=1)
RETRIED = timedelta(minutes=5)


def before_rules(before: Mapping[str, object]) -> tuple[TrafficRule, ...]:
    """The rules before the run, as the run keeps them."""
    found = before.get("rules")
    rows = found if isinstance(found, Sequence) and not isinstance(found, str) else ()
    return tuple(from_document(TrafficRule, each) for each in rows if isinstance(each, Mapping))


def rails(run: ExperimentRun, workflow: str, closes: datetime) -> tuple[Schedule, ...]:
    """The schedules of a run whose lease ends at `closes`; none where the experiment changes nothing."""
    if run.experiment.touches is Touches.NOTHING:
        return ()
    last = (closes - MARGIN).replace(microsecond=0)
    moments = {"end": min(run.ends + AFTER_END, last), "last": last}
    made: list[Schedule] = []
    for moment, at in moments.items():
        made += _by_ec2(run, moment, at)
        made.append(_by_workflow(run, moment, at, workflow))
    return tuple(made)


def names(run: ExperimentRun) -> tuple[str, ...]:
    """The names that the run's schedules may have."""
    groups = range(len(_groups(run)))
    return tuple(
        f"{PREFIX}{run.id}-{part}-{moment}"
        for moment in ("end", "last")
        for part in (*(f"rules{number}" for number in groups), "workflow")
    )


def restore(run: ExperimentRun, workflow: str, called: str, at: datetime, because: Said) -> Start:
    """The input of the workflow that restores a run; `called` tells one start from another."""
    command = Command(
        id=f"restore-{run.id}-{called}"[:80],
        verb=Verb.RESTORE,
        pool=run.pool,
        owner=run.by,
        by="the experiment's schedule" if called in {"end", "last"} else "guard",
        source="guard",
        issued=at,
        expires=at + GOOD_FOR,
        lease=run.lease,
        experiment=run.id,
        because=because,
    )
    return Start(workflow, command.id, command)


def _by_ec2(run: ExperimentRun, moment: str, at: datetime) -> list[Schedule]:
    """One call for each group: EC2 adds all rules of a call or none, so each group is restored by itself."""
    made = []
    for number, (group, rules) in enumerate(_groups(run).items()):
        sent = {"GroupId": group, "IpPermissions": [rule.permission() for rule in rules]}
        name = f"{PREFIX}{run.id}-rules{number}-{moment}"
        made.append(Schedule(name, at, AUTHORIZE, json.dumps(sent), RETRIED))
    return made


def _by_workflow(run: ExperimentRun, moment: str, at: datetime, workflow: str) -> Schedule:
    start = restore(run, workflow, moment, at, reason("experiment.rail", name=run.name, until=run.ends))
    sent = {"StateMachineArn": start.workflow, "Name": start.name, "Input": start.input}
    return Schedule(f"{PREFIX}{run.id}-workflow-{moment}", at, START_EXECUTION, json.dumps(sent), RETRIED)


def _groups(run: ExperimentRun) -> dict[str, list[TrafficRule]]:
    groups: dict[str, list[TrafficRule]] = {}
    for rule in before_rules(run.before):
        groups.setdefault(rule.group, []).append(rule)
    return groups
