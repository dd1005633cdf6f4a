"""Which nodes of a NodePool its controller ended: because EC2 takes their instances away, or because of their health.

Karpenter hears of EC2 through its queue, deletes the claim and says so in an event on it; a second event names the
cause. The events of a claim that somebody else deleted have the cause alone: EC2 ends every instance at last.

Node repair writes no event. It sets the limit of the claim's end to the present and then deletes the claim
(karpenter, pkg/controllers/node/health/controller.go), so the claim has a limit that is no later than its deletion. The
limits that the lab sets have a mark. Karpenter sets every other limit after a deletion, from the grace.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from lamplighter.domain.capacity.evidence import Claim, Interruption, InterruptionCause
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


def interruptions(events: Sequence[ClaimEvent], claims: Sequence[Claim] = ()) -> tuple[Interruption, ...]:
    """Each claim that was interrupted or repaired once, the first one first."""
    taken = list(_taken_by_ec2(events))
    by_ec2 = {found.claim for found in taken}
    repaired = [found for found in _repaired(claims) if found.claim not in by_ec2]
    return tuple(sorted([*taken, *repaired], key=lambda found: (found.at, found.claim)))


def _taken_by_ec2(events: Sequence[ClaimEvent]) -> Iterator[Interruption]:
    for decided in {event.claim: event for event in events if event.reason == DECIDED}.values():
        codes = {event.reason for event in events if event.claim == decided.claim}
        known = [cause for code, cause in _CAUSES.items() if code in codes]
        yield Interruption(decided.claim, decided.at, known[0] if known else InterruptionCause.UNKNOWN)


def _repaired(claims: Sequence[Claim]) -> Iterator[Interruption]:
    for claim in claims:
        if claim.left is None or claim.ends_at is None or claim.limited:
            continue
        # With a grace of zero, the limit of every deletion is the deletion.
        if claim.ends_at <= claim.left and claim.grace != timedelta():
            yield Interruption(claim.name, claim.left, InterruptionCause.REPAIRED)
