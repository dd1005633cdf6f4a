"""`lamplighter close`: shows which lease of a pool would end, and then ends it before its time."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, close_all, meant, orders
from cli.use.wait import Closing, ForClosing, until_closed
from lamplighter.domain.commands.command import Decision, Verb
from lamplighter.domain.commands.orders import closing
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason


def command(
    what: meant.PoolOrLease = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Close every lease of the pool, and all nodes that run without a lease."),
    ] = False,
    wait: ForClosing = None,
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
        close_all.close_all(
            deployed, deployed.pool(what), wait=wait is Closing.CLOSED, yes=yes, as_json=as_json
        )
        return
    lease = meant.lease(
        deployed, what or deployed.pool(None), "close", closing=True, or_else=reason("command.or-all")
    )
    if not yes:
        agreed.agree([agreed.ending(lease, deployed)], "Close?", "nothing was closed", as_json=as_json)
    order = closing(orders.order(deployed, Verb.CLOSE, lease.pool), lease)
    decision = orders.give(deployed, orders.concerning(order, lease))
    if wait is Closing.CLOSED:
        until_closed(deployed, lease)
    if as_json:
        printing.as_json([_document(lease, decision, deployed)])
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, deployed.zone)}")


def _document(lease: Lease, decision: Decision, deployed: Deployment) -> dict[str, object]:
    return {
        "lease": lease.id,
        "pool": lease.pool,
        "outcome": decision.outcome,
        "reason": printing.drawn(decision.reason, deployed.zone),
    }
