"""The hold of a lease with missing nodes: released while they are missing, taken again to ask for them.

A lease asks for its missing nodes as long as the budget can hold their money again. Otherwise it keeps the nodes that
came. Each change counts from its instant on.
"""

from dataclasses import replace
from datetime import datetime

from lamplighter.domain.granting.spending import left
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod


def freed(lease: Lease, missing: int, terms: Terms, now: datetime) -> Lease:
    """The lease without the hold for its missing nodes, from now to its end."""
    newly = missing - lease.missing
    if newly <= 0 or now >= lease.closes:
        return lease
    less = terms.as_granted(lease).hold(newly, now, lease.closes)
    return replace(lease.wanting(lease.nodes, missing, now), hold=lease.hold - less)


def fewer(lease: Lease, nodes: int, terms: Terms, now: datetime) -> Lease:
    """The lease that goes on without some nodes for good, and without the hold for them, from now to its end."""
    less = terms.as_granted(lease).hold(nodes, now, lease.closes)
    return replace(lease.wanting(lease.nodes - nodes, lease.missing, now), hold=lease.hold - less)


def retaken(lease: Lease, terms: Terms, budget: BudgetPeriod, now: datetime) -> Lease:
    """The lease with the money for its missing nodes held again, as far as the budget allows.

    Without any money it keeps the nodes that came. If none came, it stays as it is and asks again later.
    """
    if not lease.missing or now >= lease.closes:
        return lease
    granted, purse = terms.as_granted(lease), left(lease.owner, terms, budget)
    for nodes in range(lease.missing, 0, -1):
        more = granted.hold(nodes, now, lease.closes)
        if more <= purse or not more.amount:
            return replace(lease.wanting(lease.wanted + nodes, 0, now), hold=lease.hold + more)
    return lease.wanting(lease.wanted, 0, now) if lease.wanted else lease
