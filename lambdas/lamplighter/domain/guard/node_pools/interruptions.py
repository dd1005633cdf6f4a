"""Leased nodes that EC2 took away or that are unhealthy: their controller ends and replaces them.

The guard reports each once.
"""

from collections.abc import Iterator, Mapping

from lamplighter.domain.capacity.evidence import InterruptionCause
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.reasons.reason import Reason, reason

_CAUSES: Mapping[InterruptionCause, Reason] = {
    InterruptionCause.SPOT: reason("guard.interrupted.spot"),
    InterruptionCause.RESERVATION: reason("guard.interrupted.reservation"),
    InterruptionCause.UNHEALTHY: reason("guard.interrupted.unhealthy"),
    InterruptionCause.STOPPED: reason("guard.interrupted.stopped"),
    InterruptionCause.ENDED: reason("guard.interrupted.ended"),
    InterruptionCause.REPAIRED: reason("guard.interrupted.repaired"),
    InterruptionCause.UNKNOWN: reason("guard.interrupted.unknown"),
}


def interruptions(facts: PoolFacts) -> Iterator[Breach]:
    """Nodes that were interrupted in a lease. Which of several leases had the node is not known."""
    for found in () if facts.on_interruption else facts.seen.interruptions:
        leases = [lease for lease in facts.leases if lease.in_force(facts.now) and lease.opens <= found.at]
        if not leases:
            continue
        yield Breach(
            Rule.NODE_INTERRUPTED,
            reason("guard.interrupted", pool=facts.pool, claim=found.claim, why=_CAUSES[found.cause]),
            GuardAction.SAY,
            lease=leases[0].id if len(leases) == 1 else None,
            subject=found.claim,
        )
