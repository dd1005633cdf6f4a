"""Gives a change of the lab to its workflow and prints the answer: every verb that changes something uses it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import typer

from cli import printing
from cli.deployment import Deployment
from cli.use import orders
from lamplighter.domain.commands.command import WHOLE_LAB, Decision, Verb
from lamplighter.domain.leases.lease import Lease


def give(
    deployed: Deployment,
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
    """Ask for a change, print the answer, and end: exit code 0, or 1 where it was refused."""
    order = replace(
        orders.order(deployed, verb, pool),
        lease=lease.id if lease else None,
        window=window,
        date=date,
        closes=closes,
        lasting=lasting,
        because=because,
    )
    order = orders.concerning(order, lease) if lease else replace(order, for_lab=True)
    decision = orders.give(deployed, order)
    answer(deployed, decision, as_json=as_json)
    raise typer.Exit(1 if decision.outcome == "refused" else 0)


def answer(
    deployed: Deployment, decision: Decision, *, as_json: bool, document: Mapping[str, object] | None = None
) -> None:
    """Print the outcome and its reason; the JSON document has the keys of `document` as well."""
    reason = printing.drawn(decision.reason, deployed.zone)
    if as_json:
        printing.as_json({**(document or {}), "outcome": decision.outcome, "reason": reason})
    else:
        printing.say(f"{decision.outcome}: {reason}")
