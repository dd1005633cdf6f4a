"""Asks before a verb takes something away: it shows what would happen, and asks whether to do it.

`--yes` answers beforehand. Without a terminal nobody can answer: a verb that takes away one named thing acts then,
a verb that takes away more refuses.
"""

import sys
from collections.abc import Iterable
from datetime import datetime

import typer

from cli import printing
from cli.deployment import Deployment
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.of_leases import unopened
from lamplighter.errors import Refused
from lamplighter.values.counted import counted


def somebody_is_there() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty()


def agree(
    plan: Iterable[str], question: str, otherwise: str, *, as_json: bool, must: str | None = None
) -> None:
    """Show the plan and ask. Refused, with `otherwise` as its reason, where the answer is no.

    With `must`, Refused as well where nobody can answer: `must` says how to agree beforehand.
    """
    if must is None and not somebody_is_there():
        return
    for line in plan:
        if as_json:
            printing.say_on_stderr(line)
        else:
            printing.say(line)
    if not somebody_is_there():
        raise Refused(f"{otherwise}: {must}")
    if not typer.confirm(question, err=True):
        raise Refused(otherwise)


def ending(lease: Lease, deployed: Deployment) -> str:
    """A line about a lease that would end."""
    return (
        f"would end {lease.id}: {counted(lease.nodes, 'node')} on {lease.pool} for {lease.owner}, "
        f"granted until {printing.local(lease.closes, deployed.zone)}"
    )


def not_opening(lease: Lease, deployed: Deployment) -> str:
    """A line about a lease that would not open."""
    opens, closes = (printing.local(at, deployed.zone) for at in (lease.opens, lease.closes))
    return (
        f"would not open: {lease.id}, {opens} to {closes}, {counted(lease.nodes, 'node')} on {lease.pool} "
        f"for {lease.owner}"
    )


def ahead(deployed: Deployment, until: datetime | None = None) -> list[Lease]:
    """The leases that open by themselves before an instant, as far as they are planned, the next first."""
    waiting = [
        lease
        for pool in deployed.lab.pools
        for lease in deployed.ledger.leases(pool)
        if unopened(lease) and lease.opens > deployed.now and (until is None or lease.opens < until)
    ]
    return sorted(waiting, key=lambda lease: lease.opens)
