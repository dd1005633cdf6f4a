"""Sends a command to the lab's own address, where AWS names the caller, and waits for the decision on it."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

from cli import printing
from cli.deployment import Deployment
from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.commands_api import CommandsApi
from lamplighter.clock import monotonic, sleep
from lamplighter.domain.commands import asked, orders
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Decision, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, OutsideFailed, Refused

DECISION_SECONDS = 60
POLL_SECONDS = 0.25


def caller() -> Caller:
    """The person or role that the credentials belong to."""
    with outside("sts:GetCallerIdentity", "these credentials"):
        return Caller(str(client("sts").get_caller_identity()["Arn"]))


def order(deployed: Deployment, verb: Verb, pool: str) -> Command:
    """A new command of the caller, valid for a quarter of an hour. The verb adds what it is about.

    Its id is new: sent twice, it is one command.
    """
    command_id = f"cli-{verb.value}-{uuid.uuid4().hex[:16]}"
    return orders.order(verb, pool, command_id=command_id, by=caller().name, source="cli", now=deployed.now)


def concerning(command: Command, *leases: Lease) -> Command:
    """The command, sent with the rights of a person who runs the lab where a lease belongs to somebody else."""
    return replace(command, for_lab=not all(lease.is_of(command.by) for lease in leases))


def start(deployed: Deployment, command: Command) -> str:
    """Start the command's workflow without waiting for it. Returns the id by which the lab knows the command."""
    address = deployed.outputs.get("CommandsUrl")
    if address is None:
        raise BadInput(
            f"this version of the lab has no address for '{command.verb}': deploy the lab again and repeat this"
        )
    path = f"{asked.LAB if command.for_lab else asked.OWN}/{asked.route(command.verb)}"
    reply = CommandsApi(address, deployed.outputs["Region"]).send(path, asked.document(command, command.id))
    return str(reply["id"])


def waiting(seconds: float, pause: float) -> Iterator[None]:
    """Yields again and again for that many seconds, with a pause between two."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        yield
        sleep(pause)


def give(deployed: Deployment, command: Command) -> Decision:
    """Start the command's workflow and return the decision on the command.

    Raises OutsideFailed where no decision comes within a minute.
    """
    command_id = start(deployed, command)
    for _ in waiting(DECISION_SECONDS, POLL_SECONDS):
        decision = deployed.ledger.command(command.pool, command_id)
        if decision is not None:
            return decision
    of_lab = command.pool == WHOLE_LAB
    where = f"the run {command_id} in the console" if of_lab else f"`lamplighter why {command.pool}`"
    raise OutsideFailed(
        f"the lab accepted to {command.verb.value} {'the lab' if of_lab else command.pool}, but did not decide "
        f"within {DECISION_SECONDS} s; {where} shows the outcome"
    )


def refuse_leaked(deployed: Deployment, pool: str) -> None:
    """Refused, with the reason, where the pool is leaked."""
    state = deployed.ledger.pool(pool)
    if state.leaked_since is not None:
        raise Refused(f"pool {pool} is leaked: {printing.drawn(state.leaked_because, deployed.zone)}")
