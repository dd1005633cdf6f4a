"""Gives a command to a workflow and waits for the decision on it, as Slack and the schedules do."""

import getpass
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from cli.deployment import Deployment
from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.clock import monotonic, sleep
from lamplighter.domain import orders
from lamplighter.domain.commands import WHOLE_LAB, Command, Decision, Verb
from lamplighter.domain.schedule import Start
from lamplighter.errors import BadInput, OutsideFailed

DECISION_SECONDS = 60
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Caller:
    """Who gives the command, as AWS knows them."""

    arn: str

    @property
    def name(self) -> str:
        return self.arn.rsplit("/", 1)[-1] or getpass.getuser()

    @property
    def role(self) -> str:
        """The role that was taken, or the user: what a lab names as an admin."""
        parts = self.arn.split("/")
        return parts[-2] if ":assumed-role/" in self.arn else parts[-1]


def caller() -> Caller:
    """Whose credentials these are."""
    with outside("sts:GetCallerIdentity", "these credentials"):
        return Caller(str(client("sts").get_caller_identity()["Arn"]))


def order(found: Deployment, verb: Verb, pool: str) -> Command:
    """A command of whoever's credentials these are, good for a quarter of an hour; the verb adds what it is about.

    Its id is fresh: given again, it would be the same command.
    """
    fresh = f"cli-{verb.value}-{uuid.uuid4().hex[:16]}"
    return orders.order(verb, pool, command_id=fresh, by=caller().name, source="cli", now=found.now)


def start(found: Deployment, command: Command) -> None:
    """Start the command's workflow, and wait for nothing."""
    workflow = found.outputs.get(f"{orders.WORKFLOWS.get(command.verb, orders.CHANGES)}Arn")
    if workflow is None:
        raise BadInput(
            f"the lab was deployed before it knew '{command.verb}': deploy it again, then ask again"
        )
    Workflows().start(Start(workflow, command.id, command))


def waiting(seconds: float, pause: float) -> Iterator[None]:
    """One look after the other, with a pause between two, for so many seconds."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        yield
        sleep(pause)


def give(found: Deployment, command: Command) -> Decision:
    """Start the command's workflow and return the decision on it.

    Raises OutsideFailed when no decision comes within a minute.
    """
    start(found, command)
    for _ in waiting(DECISION_SECONDS, POLL_SECONDS):
        decision = found.ledger.command(command.pool, command.id)
        if decision is not None:
            return decision
    about = "the lab" if command.pool == WHOLE_LAB else command.pool
    where = (
        f"`lamplighter why {about}`" if command.pool != WHOLE_LAB else f"the run {command.id} in the console"
    )
    raise OutsideFailed(
        f"states:StartExecution for {command.verb.value} {about} was accepted, but no decision "
        f"came within {DECISION_SECONDS} s; {where} shows what became of it"
    )
