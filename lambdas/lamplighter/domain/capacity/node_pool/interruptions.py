"""Which nodes of a NodePool its controller ended because EC2 takes their instances away, and why EC2 does.

Karpenter hears of it through its queue, deletes the claim and says so in an event on it; a second event names the
cause. The events of a claim that somebody else deleted have the cause alone: EC2 ends every instance at last.
"""

from collections.abc import Iterator, Sequence

from lamplighter.domain.capacity.evidence import Interruption, InterruptionCause
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent

# karpenter-provider-aws, pkg/controllers/interruption/events/events.go
DECIDED = "TerminatingOnInterruption"
_CAUSES = {
    "SpotInterrupted": InterruptionCause.SPOT,
    "CapacityReservationInstanceInterrupted": InterruptionCause.RESERVATION,
    "InstanceUnhealthy": InterruptionCause.UNHEALTHY,
    "InstanceStopping": InterruptionCause.STOPPED,
    "InstanceTerminating": InterruptionCause.ENDED,
}
"""In this order: a warning comes before the end that it announces."""
REASONS = frozenset({DECIDED, *_CAUSES})


def interruptions(events: Sequence[ClaimEvent]) -> tuple[Interruption, ...]:
    """Each interrupted claim once, the first one first."""
    return tuple(sorted(_interruptions(events), key=lambda found: (found.at, found.claim)))


def _interruptions(events: Sequence[ClaimEvent]) -> Iterator[Interruption]:
    for decided in {event.claim: event for event in events if event.reason == DECIDED}.values():
        codes = {event.reason for event in events if event.claim == decided.claim}
        known = [cause for code, cause in _CAUSES.items() if code in codes]
        yield Interruption(decided.claim, decided.at, known[0] if known else InterruptionCause.UNKNOWN)
