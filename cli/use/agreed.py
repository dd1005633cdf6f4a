"""Asks before something is done that takes away: what would happen, then whether it should.

`--yes` says so beforehand. Without a terminal nobody can be asked: a verb that names one thing then acts, one that
takes away much refuses.
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
    """Whether a person can be asked."""
    return sys.stdin.isatty()


def agree(
    plan: Iterable[str], question: str, otherwise: str, *, as_json: bool, must: str | None = None
) -> None:
    """Show the plan and ask; Refused, saying what did not happen, where the answer is no.

    With `must`, Refused as well where nobody can be asked: it says how to agree beforehand.
    """
    if must is None and not somebody_is_there():
        return
    for line in plan:
        if as_json:
            sys.stderr.write(f"{line}\n")
        else:
            printing.say(line)
    if not somebody_is_there():
        raise Refused(f"{otherwise}: {must}")
    if not typer.confirm(question, err=True):
        raise Refused(otherwise)


def ending(lease: Lease, found: Deployment) -> str:
    """What would end, in a line."""
    return (
        f"would end {lease.id}: {counted(lease.nodes, 'node')} on {lease.pool} for {lease.owner}, "
        f"granted until {printing.local(lease.closes, found.zone)}"
    )


def not_opening(lease: Lease, found: Deployment) -> str:
    """What would not open, in a line."""
    opens, closes = (printing.local(at, found.zone) for at in (lease.opens, lease.closes))
    return (
        f"would not open: {lease.id}, {opens} to {closes}, {counted(lease.nodes, 'node')} on {lease.pool} "
        f"for {lease.owner}"
    )


def ahead(found: Deployment, until: datetime | None = None) -> list[Lease]:
    """What is to open by itself before an instant, as far as it is planned, the next first."""
    waiting = [
        lease
        for pool in found.lab.pools
        for lease in found.ledger.leases(pool)
        if unopened(lease) and lease.opens > found.now and (until is None or lease.opens < until)
    ]
    return sorted(waiting, key=lambda lease: lease.opens)
