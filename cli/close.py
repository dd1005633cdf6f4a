"""`lamplighter close`: ends leases of a pool before their time, after saying which."""

import sys
import time
from typing import Annotated

import typer

from cli import close_all, deployment, orders, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, Yes
from lamplighter.domain.commands import Command, Decision, Verb
from lamplighter.domain.lease import OVER, Lease, LeaseState
from lamplighter.errors import BadInput, Refused

WAIT_POLL_SECONDS = 2


def command(
    what: Annotated[
        str | None, typer.Argument(metavar="[POOL|LEASE]", help="The pool, or one lease by its id.")
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Every lease of the pool, and whatever runs there without one."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when zero is proven.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Close a pool before its lease ends: drain, back to zero, proof, receipt.

    `--all` is for emergencies: one order for the whole pool, shown first. What opens later still opens;
    `lamplighter pause` keeps it closed.

    \b
    Examples:
      lamplighter close
      lamplighter close gpu --wait
      lamplighter close cli-1a2b3c4d --yes
      lamplighter close --all gpu --yes
    """
    found = deployment.find(lab_name)
    if everything:
        close_all.close_all(found, found.pool(what), wait=wait, yes=yes, as_json=as_json)
        return
    leases = _meant(found, what)
    if not yes and sys.stdin.isatty():
        for lease in leases:
            printing.say(
                f"would end {lease.id}: {printing.nodes(lease.nodes)} on {lease.pool} for {lease.owner}, "
                f"granted until {printing.local(lease.closes, found.zone)}"
            )
        if not typer.confirm("Close?"):
            raise Refused("nothing was closed")
    person = orders.caller().name
    answers = [(lease, orders.give(found, _order(found, lease, person))) for lease in leases]
    if wait:
        for lease in leases:
            _wait(found, lease)
    if as_json:
        printing.as_json([_document(lease, decision) for lease, decision in answers])
    else:
        for _, decision in answers:
            printing.say(f"{decision.outcome}: {decision.reason}")


def _meant(found: Deployment, what: str | None) -> list[Lease]:
    running = [
        lease
        for name in found.lab.pools
        for lease in found.ledger.leases(name)
        if lease.granted or lease.state is LeaseState.CLOSING
    ]
    by_id = [lease for lease in running if lease.id == what]
    if by_id:
        return by_id
    if what is not None and what not in found.lab.pools:
        ids = ", ".join(lease.id for lease in running) or "none"
        raise BadInput(
            f"'{what[:80]}' is neither a pool nor a running lease; "
            f"pools: {', '.join(found.lab.pools)}, leases: {ids}"
        )
    pool = found.pool(what)
    leases = [lease for lease in running if lease.pool == pool]
    if not leases:
        raise Refused(f"pool {pool} has no lease to close")
    if len(leases) > 1:
        names = ", ".join(f"{lease.id} ({lease.owner})" for lease in leases)
        raise BadInput(f"pool {pool} has {len(leases)} leases: name one of {names}, or say --all")
    return leases


def _order(found: Deployment, lease: Lease, person: str) -> Command:
    return Command(
        id=orders.command_id(Verb.CLOSE),
        verb=Verb.CLOSE,
        pool=lease.pool,
        owner=lease.owner,
        by=person,
        source="cli",
        issued=found.now,
        expires=orders.expiry(found.now),
        lease=lease.id,
        because=f"{person} closed it",
    )


def _wait(found: Deployment, lease: Lease) -> None:
    seen: Lease | None = lease
    while seen is not None and seen.state not in OVER:
        time.sleep(WAIT_POLL_SECONDS)
        seen = found.ledger.lease(lease.pool, lease.id)
        if found.ledger.pool(lease.pool).leaked_since is not None:
            raise Refused(f"pool {lease.pool} is leaked: {found.ledger.pool(lease.pool).leaked_because}")


def _document(lease: Lease, decision: Decision) -> dict[str, object]:
    return {"lease": lease.id, "pool": lease.pool, "outcome": decision.outcome, "reason": decision.reason}
