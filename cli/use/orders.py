"""Gives a command at the lab's own address, where AWS says who gives it, and waits for the decision on it."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

from cli.deployment import Deployment
from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.commands_api import CommandsApi
from lamplighter.clock import monotonic, sleep
from lamplighter.domain.commands import asked, orders
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, OutsideFailed

DECISION_SECONDS = 60
POLL_SECONDS = 0.25


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


def concerning(command: Command, *leases: Lease) -> Command:
    """The command as one who runs the lab gives it, where any of these leases is somebody else's."""
    return replace(command, for_lab=not all(lease.is_of(command.by) for lease in leases))


def start(found: Deployment, command: Command) -> str:
    """Have the command's workflow started, and wait for nothing; gives the id that the lab knows it by."""
    address = found.outputs.get("CommandsUrl")
    if address is None:
        raise BadInput(
            f"the lab was deployed before '{command.verb}' had an address of its own: deploy it again, then ask again"
        )
    path = f"{asked.LAB if command.for_lab else asked.OWN}/{asked.route(command.verb)}"
    said = CommandsApi(address, found.outputs["Region"]).send(path, asked.document(command, command.id))
    return str(said["id"])


def waiting(seconds: float, pause: float) -> Iterator[None]:
    """One look after the other, with a pause between two, for so many seconds."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        yield
        sleep(pause)


def give(found: Deployment, command: Command) -> Decision:
    """Have the command's workflow started and return the decision on it.

    Raises OutsideFailed when no decision comes within a minute.
    """
    known = start(found, command)
    for _ in waiting(DECISION_SECONDS, POLL_SECONDS):
        decision = found.ledger.command(command.pool, known)
        if decision is not None:
            return decision
    about = "the lab" if command.pool == WHOLE_LAB else command.pool
    where = f"`lamplighter why {about}`" if command.pool != WHOLE_LAB else f"the run {known} in the console"
    raise OutsideFailed(
        f"to {command.verb.value} {about} was accepted, but no decision "
        f"came within {DECISION_SECONDS} s; {where} shows what became of it"
    )
