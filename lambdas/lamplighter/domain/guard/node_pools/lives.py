"""Leased nodes whose life ends before their lease: their controller replaces them, and people hear of it in time.

A life is longer than any lease, and an opening replaces what its lease would outlive. Beside another running lease it
replaces nothing, so leases that overlap may outlive a node.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import reason

NOTICE = timedelta(minutes=30)
"""Time to keep one's work elsewhere."""


def lives(facts: PoolFacts) -> Iterator[Breach]:
    """Nodes that end soon, in a lease that goes on. Which of several leases has the node is not known."""
    for claim in facts.seen.claims:
        if claim.expires is None or claim.leaving or claim.expires - facts.now > NOTICE:
            continue
        leases = [
            lease
            for lease in facts.leases
            if lease.state is LeaseState.OPEN and lease.in_force(facts.now) and claim.expires < lease.closes
        ]
        if not leases:
            continue
        yield Breach(
            Rule.NODE_LIFE_ENDS,
            reason("guard.life-ends", pool=facts.pool, claim=claim.name, at=claim.expires),
            GuardAction.SAY,
            lease=leases[0].id if len(leases) == 1 else None,
            subject=claim.name,
        )
