"""What one person may have on a pool: by their role, and ahead of time.

Two commands at the same time do not know of each other. So a command carries the allowance of the person who gives
it, and the run that writes the pool compares it with the leases of that moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import taken_at
from lamplighter.domain.people.person import who
from lamplighter.reasons.fields import KEY
from lamplighter.reasons.reason import Said, reason

if TYPE_CHECKING:
    from lamplighter.domain.leases.terms import Terms

MOST_AHEAD_ON_A_POOL = 200
"""Six lessons ahead for each student of such a class. Each command reads and compares all leases of the pool."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Nodes at once on a pool, and the whole length of a lease; None: only the limits of the pool and the guard."""

    nodes: int | None = None
    length: timedelta | None = field(default=None, metadata={KEY: "seconds"})


def answered_for(leases: Iterable[Lease], by: str, owner: str, opens: datetime, closes: datetime) -> int:
    """The most nodes at once in [opens, closes) that the giver of a command answers for.

    These are the giver's own, those of the command's owner, and those that the giver opened for others.
    """
    giver, people = who(by), {who(by), who(owner)}
    theirs = [
        lease
        for lease in leases
        if lease.granted
        and lease.overlaps(opens, closes)
        and (who(lease.owner) in people or (lease.by is not None and who(lease.by) == giver))
    ]
    return max(
        taken_at(theirs, at) for at in (opens, *(lease.opens for lease in theirs if lease.opens > opens))
    )


def refusal(
    allowance: Allowance | None,
    by: str,
    lease: Lease,
    others: Iterable[Lease],
    *,
    since: datetime,
    has: int = 0,
) -> Said | None:
    """Why `by` may not have this lease from `since` on; the nodes that the lease already `has` are allowed."""
    if allowance is None:
        return None
    nodes = answered_for(others, by, lease.owner, since, lease.closes) + lease.nodes
    if allowance.nodes is not None and nodes > max(allowance.nodes, has):
        return reason("lease.allowed-nodes", by=by, most=allowance.nodes, pool=lease.pool, nodes=nodes)
    length = lease.closes - lease.begins
    if allowance.length is not None and length > allowance.length:
        return reason("lease.allowed-length", length=length, by=by, longest=allowance.length)
    return None


def too_many_ahead(
    by: str, lease: Lease, others: Iterable[Lease], terms: "Terms", now: datetime
) -> Said | None:
    """Why `by` may not have this lease granted ahead; windows of the lab's calendar do not count, and always may."""
    if lease.window is not None or lease.opens <= now:
        return None
    ahead = [
        other
        for other in others
        if other.state is LeaseState.ADMITTED and other.opens > now and other.window is None
    ]
    for person in (by, lease.owner):
        theirs = [other for other in ahead if who(person) in {who(other.owner), who(other.by or other.owner)}]
        if len(theirs) >= terms.most_ahead:
            first = min(other.opens for other in theirs)
            return reason(
                "lease.ahead-of-person", person=person, number=len(theirs), pool=lease.pool, opens=first
            )
        length = sum((other.closes - other.opens for other in (*theirs, lease)), timedelta())
        if terms.longest_ahead is not None and length > terms.longest_ahead:
            return reason(
                "lease.ahead-of-person.hours",
                person=person,
                length=length,
                pool=lease.pool,
                most=terms.longest_ahead,
            )
    if len(ahead) >= MOST_AHEAD_ON_A_POOL:
        first = min(other.opens for other in ahead)
        return reason("lease.ahead-on-pool", number=len(ahead), pool=lease.pool, opens=first)
    return None
