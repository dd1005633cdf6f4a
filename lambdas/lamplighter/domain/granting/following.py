"""How a running lease follows its window when a deploy or a course calendar moves the window's end.

A later end is an extension, within the same bounds. An earlier end is announced first, at least a quarter of an hour
ahead. If a person has moved the end, it stays. If the window is removed, its lease continues. A new curfew within a
running lease ends it in the same way, and so does the end of the reservation that its nodes come from.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant

NOTICE = timedelta(minutes=15)
"""The shortest notice before an end that was moved nearer."""
GOOD_FOR = timedelta(minutes=15)


def follow(lease: Lease, ends: Mapping[str, datetime], now: datetime) -> Command | None:
    """The command that moves a running lease to its window's new end; None if the end is the same.

    `ends` has the end of every window of these days by lease, also of one that has just ended.
    """
    wanted = ends.get(lease.id)
    if wanted is None or lease.asked_until is None or not lease.in_force(now):
        return None
    if wanted == lease.asked_until:
        return None
    return _move(
        lease, wanted, now, f"window {lease.window}", "window", reason("lease.window-moved", until=wanted)
    )


def curfewed(lease: Lease, terms: Terms, now: datetime) -> Command | None:
    """The command that ends a person's running lease at a curfew that is newer than the lease; None without one."""
    if lease.window is not None or not lease.in_force(now):
        return None
    wanted = terms.ends(now, lease.closes)
    if not now < wanted < lease.closes:
        return None
    return _move(lease, wanted, now, "the curfew", "guard", reason("lease.curfew-came", until=wanted))


def outlasting(lease: Lease, terms: Terms, now: datetime) -> Command | None:
    """The command that ends a running lease before its pool's reservation ends; None for one that ends by then."""
    wanted = terms.reserved_until
    if wanted is None or not lease.in_force(now) or lease.closes <= wanted:
        return None
    because = reason("lease.reservation-ends", until=wanted)
    return _move(lease, wanted, now, "the reservation", "guard", because)


def _move(lease: Lease, wanted: datetime, now: datetime, by: str, source: str, because: Said) -> Command:  # noqa: PLR0917
    # Every move of the lease changes its generation, so moving back is another command.
    told = f"{lease.id} {instant.written(wanted)} {lease.generation}"
    return Command(
        id=f"follow-{lease.id}-{hashlib.sha256(told.encode()).hexdigest()[:8]}",
        verb=Verb.EXTEND,
        pool=lease.pool,
        owner=lease.owner,
        by=by,
        source=source,
        issued=now,
        expires=now + GOOD_FOR,
        lease=lease.id,
        closes=wanted,
        window=lease.window,
        date=lease.date,
        because=because,
    )


def shortened(lease: Lease, wanted: datetime, terms: Terms, now: datetime) -> Lease | None:
    """The lease with its nearer end and a smaller hold; None if it ends before the notice is over."""
    told = now + NOTICE
    whole = told.replace(second=0, microsecond=0)
    closes = max(wanted, whole if whole == told else whole + timedelta(minutes=1))
    if closes >= lease.closes:
        return None
    free = terms.as_granted(lease).hold(lease.wanted, closes, lease.closes)
    return replace(lease, closes=closes, hold=lease.hold - free, asked_until=wanted)
