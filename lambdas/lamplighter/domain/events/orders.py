"""The command that a request on the bus means, and which lease it is about.

A request owns nothing by its own words: the lease belongs to the owner that the entry names. An entry can extend and
close only leases that its own events opened. Every open asks for nodes of its own, even where the pool is open for
others.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.commands.meant import lease_meant
from lamplighter.domain.events.request import EventRequest
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import Refused
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

SOURCE = "event"


def giver(entry: str) -> str:
    """How decisions and the audit trail name the giver of a command; no person has such a name."""
    return f"{entry} ({SOURCE})"


def is_giver(name: str) -> bool:
    """Whether this is how `giver` names somebody."""
    return name.endswith(f" ({SOURCE})")


def opening(request: EventRequest, lab: Lab) -> Command:
    """The command to open; the defaults are one node, now, and the lab's default length within the entry's longest."""
    given, longest = _order(request, lab), _allowance(request, lab).length
    default = min(lab.guard.default_lease, longest) if longest else lab.guard.default_lease
    return replace(
        given,
        nodes=request.nodes or 1,
        closes=request.until,
        lasting=None if request.until else request.lasting or default,
        because=request.because,
        add=True,
    )


def extending(request: EventRequest, lab: Lab, lease: Lease) -> Command:
    """The command to extend this lease; the default is the lab's default length."""
    return replace(
        _order(request, lab),
        pool=lease.pool,
        lease=lease.id,
        closes=request.until,
        lasting=None if request.until else request.lasting or lab.guard.default_lease,
        because=request.because,
    )


def closing(request: EventRequest, lab: Lab, lease: Lease) -> Command:
    """The command to end this lease before its time."""
    given = _order(request, lab)
    because = request.because or reason("lease.closed-by", by=given.by)
    return replace(given, pool=lease.pool, lease=lease.id, because=because)


def lease_of(request: EventRequest, leases: Iterable[Lease], opened: Decision | None, now: datetime) -> Lease:
    """The lease to extend or close: with a token that of the same piece of work, else the entry's only running one.

    `opened` is the decision on the open command with the same token, if there was one. Raises Refused or BadInput
    where no lease is meant, or several are.
    """
    if request.token is not None and opened is None:
        # Its open may still come. The owner's running lease is of another piece of work.
        raise Refused(reason("command.event.nothing-opened", verb=request.verb.value, token=request.token))
    theirs = [lease for lease in leases if lease.source == SOURCE and lease.by == giver(request.entry)]
    if opened is not None:
        lease = next((lease for lease in theirs if lease.id == opened.granted), None)
        if lease is None:
            raise Refused(reason("command.event.opened-nothing", verb=request.verb.value, why=opened.reason))
        return lease
    return lease_meant(
        request.pool,
        theirs,
        [request.pool],
        request.verb.value,
        now=now,
        closing=request.verb is Verb.CLOSE,
        or_else=reason("command.event.use-a-token"),
    )


def _owner(request: EventRequest, lab: Lab) -> str:
    return lab.events.owner_of(request.entry) if lab.events else request.entry


def _allowance(request: EventRequest, lab: Lab) -> Allowance:
    entry = lab.events.allow[request.entry] if lab.events else None
    return Allowance(entry.max_nodes, entry.longest) if entry else Allowance()


def _order(request: EventRequest, lab: Lab) -> Command:
    given = orders.order(
        request.verb,
        request.pool,
        command_id=request.command_id(),
        by=giver(request.entry),
        source=SOURCE,
        now=request.issued,
    )
    return replace(given, owner=_owner(request, lab), allowance=_allowance(request, lab))
