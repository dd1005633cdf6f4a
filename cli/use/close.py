"""`lamplighter close`: shows which lease of a pool would end, and then ends it before its time."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, close_all, meant, orders
from lamplighter.clock import sleep
from lamplighter.domain.commands.command import Decision, Verb
from lamplighter.domain.commands.orders import closing
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.reasons.reason import reason

WAIT_POLL_SECONDS = 2
RECEIPT_SECONDS = 60
"""The receipt comes moments after the lease is closed. Zero is proven with or without it."""


def command(
    what: meant.PoolOrLease = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Close every lease of the pool, and all nodes that run without a lease."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when zero is proven.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Close a pool before its lease ends: drain the nodes, go back to zero, prove it, write the receipt.

    `--all` is for emergencies: one order closes the whole pool, after showing what runs there. Later leases
    still open; `lamplighter pause` keeps them closed.

    \b
    Examples:
      lamplighter close
      lamplighter close gpu --wait
      lamplighter close cli-1a2b3c4d --yes
      lamplighter close --all gpu --yes
    """
    deployed = deployment.find(lab_name)
    if everything:
        close_all.close_all(deployed, deployed.pool(what), wait=wait, yes=yes, as_json=as_json)
        return
    lease = meant.lease(
        deployed, what or deployed.pool(None), "close", closing=True, or_else=reason("command.or-all")
    )
    if not yes:
        agreed.agree([agreed.ending(lease, deployed)], "Close?", "nothing was closed", as_json=as_json)
    order = closing(orders.order(deployed, Verb.CLOSE, lease.pool), lease)
    decision = orders.give(deployed, orders.concerning(order, lease))
    if wait:
        _wait(deployed, lease)
    if as_json:
        printing.as_json([_document(lease, decision, deployed)])
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, deployed.zone)}")


def _wait(deployed: Deployment, lease: Lease) -> None:
    ledger = deployed.ledger
    current: Lease | None = lease
    while current is not None and current.state not in OVER:
        sleep(WAIT_POLL_SECONDS)
        current = ledger.lease(lease.pool, lease.id)
        orders.refuse_leaked(deployed, lease.pool)
    if current is None or current.state is not LeaseState.CLOSED:
        return
    for _ in orders.waiting(RECEIPT_SECONDS, WAIT_POLL_SECONDS):
        if ledger.receipt(lease.pool, lease.id, current.closed or current.closes) is not None:
            return


def _document(lease: Lease, decision: Decision, deployed: Deployment) -> dict[str, object]:
    return {
        "lease": lease.id,
        "pool": lease.pool,
        "outcome": decision.outcome,
        "reason": printing.drawn(decision.reason, deployed.zone),
    }
