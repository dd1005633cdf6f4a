"""Gives a command to a workflow and waits for the decision on it, as Slack and the schedules do."""

import getpass
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta

from cli.deployment import Deployment
from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.commands import WHOLE_LAB, Command, Decision, Verb
from lamplighter.domain.schedule import Start
from lamplighter.errors import BadInput, OutsideFailed

EXPIRES_AFTER = timedelta(minutes=15)
DECISION_SECONDS = 60
POLL_SECONDS = 0.25
CHANGES = "ChangeLabArn"
_OUTPUTS = {Verb.OPEN: "OpenLabArn", Verb.CLOSE: "CloseLabArn", Verb.EXTEND: "ExtendLeaseArn"}


@dataclass(frozen=True)
class Caller:
    """Who gives the command, as AWS knows them."""

    arn: str

    @property
    def name(self) -> str:
        return self.arn.rsplit("/", 1)[-1] or getpass.getuser()


def caller() -> Caller:
    """Whose credentials these are."""
    with outside("sts:GetCallerIdentity", "these credentials"):
        return Caller(str(client("sts").get_caller_identity()["Arn"]))


def order(found: Deployment, verb: Verb, pool: str) -> Command:
    """A command of whoever's credentials these are, good for a quarter of an hour; the verb adds what it is about.

    Its id is fresh: given again, it would be the same command.
    """
    person = caller().name
    return Command(
        id=f"cli-{verb.value}-{uuid.uuid4().hex[:16]}",
        verb=verb,
        pool=pool,
        owner=person,
        by=person,
        source="cli",
        issued=found.now,
        expires=found.now + EXPIRES_AFTER,
    )


def give(found: Deployment, command: Command) -> Decision:
    """Start the command's workflow and return the decision on it.

    Raises OutsideFailed when no decision comes within a minute.
    """
    workflow = found.outputs.get(_OUTPUTS.get(command.verb, CHANGES))
    if workflow is None:
        raise BadInput(
            f"the lab was deployed before it knew '{command.verb}': deploy it again, then ask again"
        )
    Workflows().start(Start(workflow, command.id, command))
    deadline = time.monotonic() + DECISION_SECONDS
    while time.monotonic() < deadline:
        decision = found.ledger.command(command.pool, command.id)
        if decision is not None:
            return decision
        time.sleep(POLL_SECONDS)
    about = "the lab" if command.pool == WHOLE_LAB else command.pool
    where = (
        f"`lamplighter why {about}`" if command.pool != WHOLE_LAB else f"the run {command.id} in the console"
    )
    raise OutsideFailed(
        f"states:StartExecution for {command.verb.value} {about} was accepted, but no decision "
        f"came within {DECISION_SECONDS} s; {where} shows what became of it"
    )
