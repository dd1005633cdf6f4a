"""`lamplighter extend`: asks for more time on a running lease."""

from typing import Annotated

import typer

from cli import deployment, known_names
from cli.options import AsJson, LabName
from cli.use import changes, meant, orders
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.orders import extending
from lamplighter.domain.commands.words import extend_words
from lamplighter.values.instant import written


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[POOL|LEASE] D|until T [because TEXT]",
            help="How much longer, or until when.",
            autocompletion=known_names.pools_or_leases,
        ),
    ],
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Extend a running lease.

    Exit code 0: extended. 1: refused, with the reason.

    \b
    Examples:
      lamplighter extend 30m
      lamplighter extend gpu 1h30m
      lamplighter extend until 23:00
    """
    deployed = deployment.find(lab_name)
    what, wanted = extend_words(meant.spelled(deployed, words), deployed.now, deployed.zone)
    lease = meant.lease(deployed, what, "extend")
    order = extending(orders.order(deployed, Verb.EXTEND, lease.pool), lease, wanted)
    decision = orders.give(deployed, orders.concerning(order, lease))
    extended = deployed.ledger.lease(lease.pool, lease.id) or lease
    document = {"lease": lease.id, "closes": written(extended.closes)}
    changes.answer(deployed, decision, as_json=as_json, document=document)
    raise typer.Exit(0 if decision.outcome == "extended" else 1)
