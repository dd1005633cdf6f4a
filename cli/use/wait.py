"""What `--wait` means, for every verb: return when what was asked for is so, or cannot be.

`--wait granted` returns with the lab's decision. `--wait` alone goes to the end: the GPUs of an open are proven, an
extension is granted, a close has proven zero.
"""

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from cli import printing
from cli.deployment import Deployment
from cli.use import orders
from lamplighter.clock import sleep
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.granting import fallback
from lamplighter.domain.leases.lease import OVER, Lease, LeaseState
from lamplighter.reasons.reason import draw

POLL_SECONDS = 2
RECEIPT_SECONDS = 60
"""The receipt comes moments after the lease is closed. Zero is proven with or without it."""


class Opening(StrEnum):
    """Until when an open waits; the last is that of `--wait` alone."""

    GRANTED = "granted"
    OPEN = "open"


class Extending(StrEnum):
    """Until when an extension waits."""

    GRANTED = "granted"


class Closing(StrEnum):
    """Until when a close waits."""

    GRANTED = "granted"
    CLOSED = "closed"


Wait = Opening | Extending | Closing
ForOpening = Annotated[
    Opening | None,
    typer.Option(
        "--wait",
        metavar="[granted|open]",
        help="Return when the lease is granted, or when the GPUs are proven or cannot be; alone: open.",
    ),
]
ForExtending = Annotated[
    Extending | None,
    typer.Option("--wait", metavar="[granted]", help="Return when the lab has answered; alone: granted."),
]
ForClosing = Annotated[
    Closing | None,
    typer.Option(
        "--wait",
        metavar="[granted|closed]",
        help="Return when the lease ends, or when zero is proven; alone: closed.",
    ),
]


def until_open(deployed: Deployment, lease: Lease) -> tuple[Lease, bool]:
    """Wait until the GPUs of the lease are proven, it is announced as degraded, or it is over.

    If it moves to another pool, wait for the lease there.

    Returns the lease, and whether it is open with proven GPUs; if not, stderr says why.
    """
    waiting = (LeaseState.ADMITTED, LeaseState.OPENING)
    shown_until: datetime = deployed.now
    clock = partial(printing.local, zone=deployed.zone)
    while lease.state in waiting and not _degraded(deployed, lease):
        for entry in deployed.ledger.audit(lease.pool, shown_until):
            if entry.at > shown_until and entry.lease in (None, lease.id):
                printing.say_on_stderr(f"{clock(entry.at)}  {draw(entry.what, ENGLISH, clock)}")
                shown_until = entry.at
        sleep(POLL_SECONDS)
        lease = deployed.ledger.lease(lease.pool, lease.id) or lease
        if lease.moved_to is not None:
            why = fallback.moved_to(lease, lease.moved_to.pool)
            printing.say_on_stderr(printing.drawn(why, deployed.zone))
            lease = deployed.ledger.where_moved(lease)
    proven = lease.state is LeaseState.OPEN
    if not proven:
        printing.say_on_stderr(f"the GPUs are not proven: {_why_not(deployed, lease)}")
    return lease, proven


def until_closed(deployed: Deployment, lease: Lease) -> None:
    """Wait until zero is proven for the lease, and its receipt is there. Refused where the pool is leaked."""
    ledger = deployed.ledger
    current: Lease | None = lease
    while current is not None and current.state not in OVER:
        sleep(POLL_SECONDS)
        current = ledger.lease(lease.pool, lease.id)
        orders.refuse_leaked(deployed, lease.pool)
    if current is None or current.state is not LeaseState.CLOSED:
        return
    for _ in orders.waiting(RECEIPT_SECONDS, POLL_SECONDS):
        if ledger.receipt(lease.pool, lease.id, current.closed or current.closes) is not None:
            return


def _degraded(deployed: Deployment, lease: Lease) -> Entry | None:
    """The last announcement of the lease, where it says that the pool opened degraded."""
    announcements = [
        entry
        for entry in deployed.ledger.audit(lease.pool, lease.opens)
        if entry.lease == lease.id and entry.details.get("notice") in ("open", "degraded")
    ]
    last = announcements[-1] if announcements else None
    return last if last and last.details["notice"] == "degraded" else None


def _why_not(deployed: Deployment, lease: Lease) -> str:
    announcement = _degraded(deployed, lease)
    if announcement:
        return printing.drawn(announcement.why, deployed.zone)
    return f"{printing.drawn(lease.called(), deployed.zone)} is {lease.state.value}"
