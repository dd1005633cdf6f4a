"""What is held for a lease whose nodes do not all come: freed while they are missing, taken again to ask anew.

A lease keeps asking for its nodes as long as their money can be set aside again; else it makes do with
what came. What changes holds from its instant on.
"""

from dataclasses import replace
from datetime import datetime

from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.spending import left


def freed(lease: Lease, missing: int, terms: Terms, now: datetime) -> Lease:
    """The lease without the hold for its missing nodes, from now to its end."""
    newly = missing - lease.missing
    if newly <= 0 or now >= lease.closes:
        return lease
    less = terms.as_granted(lease).hold(newly, now, lease.closes)
    return replace(lease.wanting(lease.nodes, missing, now), hold=lease.hold - less)


def retaken(lease: Lease, terms: Terms, budget: BudgetPeriod, now: datetime) -> Lease:
    """The lease with the money for its missing nodes held again, or with as many nodes as came and money is for.

    One of which nothing came, and for which there is no money at all, stays as it is: it asks again later.
    """
    if not lease.missing or now >= lease.closes:
        return lease
    granted, purse = terms.as_granted(lease), left(lease.owner, terms, budget)
    for asked in range(lease.missing, 0, -1):
        more = granted.hold(asked, now, lease.closes)
        if more <= purse:
            return replace(lease.wanting(lease.wanted + asked, 0, now), hold=lease.hold + more)
    return lease.wanting(lease.wanted, 0, now) if lease.wanted else lease
