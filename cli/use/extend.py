"""`lamplighter extend`: asks for more time on a running lease."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.look_after import known_names
from cli.options import AsJson, LabName
from cli.use import meant, orders
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
    """Extend a running lease. Exit code 0: extended. 1: refused, with the reason.

    \b
    Examples:
      lamplighter extend 30m
      lamplighter extend gpu 1h30m
      lamplighter extend until 23:00
    """
    found = deployment.find(lab_name)
    what, said = extend_words(list(words), found.now, found.zone)
    lease = meant.lease(found, what, "extend")
    order = extending(orders.order(found, Verb.EXTEND, lease.pool), lease, said)
    decision = orders.give(found, orders.concerning(order, lease))
    now_until = found.ledger.lease(lease.pool, lease.id) or lease
    if as_json:
        printing.as_json(
            {
                "outcome": decision.outcome,
                "reason": printing.drawn(decision.reason, found.zone),
                "lease": lease.id,
                "closes": written(now_until.closes),
            }
        )
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, found.zone)}")
    raise typer.Exit(0 if decision.outcome == "extended" else 1)
