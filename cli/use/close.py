"""`lamplighter close`: ends leases of a pool before their time, after saying which."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, close_all, meant, orders
from lamplighter.clock import sleep
from lamplighter.domain.commands.command import Decision, Verb
from lamplighter.domain.commands.orders import closing
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.errors import Refused
from lamplighter.reasons.reason import reason

WAIT_POLL_SECONDS = 2
RECEIPT_SECONDS = 60
"""Closing ends with the receipt, moments after the lease is closed; zero is proven with or without it."""


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[POOL|LEASE]",
            help="The pool, or one lease by its id.",
            autocompletion=known_names.pools_or_leases,
        ),
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
    lease = meant.lease(
        found, what or found.pool(None), "close", closing=True, or_else=reason("command.or-all")
    )
    if not yes:
        agreed.agree([agreed.ending(lease, found)], "Close?", "nothing was closed", as_json=as_json)
    order = closing(orders.order(found, Verb.CLOSE, lease.pool), lease)
    decision = orders.give(found, orders.concerning(order, lease))
    if wait:
        _wait(found, lease)
    if as_json:
        printing.as_json([_document(lease, decision, found)])
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, found.zone)}")


def _wait(found: Deployment, lease: Lease) -> None:
    seen: Lease | None = lease
    while seen is not None and seen.state not in OVER:
        sleep(WAIT_POLL_SECONDS)
        seen = found.ledger.lease(lease.pool, lease.id)
        if found.ledger.pool(lease.pool).leaked_since is not None:
            raise Refused(f"pool {lease.pool} is leaked: {found.ledger.pool(lease.pool).leaked_because}")
    if seen is None or seen.state is not LeaseState.CLOSED:
        return
    for _ in orders.waiting(RECEIPT_SECONDS, WAIT_POLL_SECONDS):
        if found.ledger.receipt(lease.pool, lease.id, seen.closed or seen.closes) is not None:
            return


def _document(lease: Lease, decision: Decision, found: Deployment) -> dict[str, object]:
    return {
        "lease": lease.id,
        "pool": lease.pool,
        "outcome": decision.outcome,
        "reason": printing.drawn(decision.reason, found.zone),
    }
