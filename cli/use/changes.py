"""Gives a person's change of the lab to its workflow and prints the answer; shared by the verbs that do so."""

from dataclasses import replace
from datetime import datetime, timedelta

import typer

from cli import printing
from cli.deployment import Deployment
from cli.use import orders
from lamplighter.domain.commands.command import WHOLE_LAB, Verb
from lamplighter.domain.leases.lease import Lease


def give(
    found: Deployment,
    verb: Verb,
    *,
    pool: str = WHOLE_LAB,
    lease: Lease | None = None,
    window: str | None = None,
    date: str | None = None,
    closes: datetime | None = None,
    lasting: timedelta | None = None,
    because: str | None = None,
    as_json: bool = False,
) -> None:
    """Ask for a change, print what came of it, and end: exit code 0, or 1 where it was refused."""
    order = replace(
        orders.order(found, verb, pool),
        lease=lease.id if lease else None,
        window=window,
        date=date,
        closes=closes,
        lasting=lasting,
        because=because,
    )
    order = orders.concerning(order, lease) if lease else replace(order, for_lab=True)
    decision = orders.give(found, order)
    if as_json:
        printing.as_json({"outcome": decision.outcome, "reason": printing.drawn(decision.reason, found.zone)})
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, found.zone)}")
    raise typer.Exit(1 if decision.outcome == "refused" else 0)
