"""Which nodes EC2 took away and why, by Karpenter's events."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity.evidence import Interruption, InterruptionCause
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.domain.capacity.node_pool.interruptions import interruptions

EIGHT = datetime(2026, 11, 20, 20, tzinfo=UTC)
DECIDED = "TerminatingOnInterruption"


def event(reason: str, claim: str = "lab-gpu-12345", seconds: int = 0) -> ClaimEvent:
    return ClaimEvent(claim, EIGHT + timedelta(seconds=seconds), reason, "…")


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ("SpotInterrupted", InterruptionCause.SPOT),
        ("CapacityReservationInstanceInterrupted", InterruptionCause.RESERVATION),
        ("InstanceUnhealthy", InterruptionCause.UNHEALTHY),
        ("InstanceStopping", InterruptionCause.STOPPED),
        ("InstanceTerminating", InterruptionCause.ENDED),
        ("Unheard", InterruptionCause.UNKNOWN),
    ],
)
def test_the_event_beside_karpenters_decision_names_the_cause(told: str, cause: InterruptionCause) -> None:
    found = interruptions([event(told), event(DECIDED, seconds=1)])

    assert found == (Interruption("lab-gpu-12345", EIGHT + timedelta(seconds=1), cause),)


def test_the_end_of_a_warned_instance_is_no_second_interruption() -> None:
    events = [event("InstanceTerminating", seconds=90), event(DECIDED), event("SpotInterrupted")]

    assert [found.cause for found in interruptions(events)] == [InterruptionCause.SPOT]


def test_an_instance_that_ends_with_its_claim_is_none() -> None:
    assert interruptions([event("InstanceTerminating")]) == ()


def test_a_cause_is_that_of_its_own_claim_and_the_first_claim_comes_first() -> None:
    events = [
        event(DECIDED, "lab-gpu-bbbbb", 60),
        event("SpotInterrupted", "lab-gpu-bbbbb", 60),
        event(DECIDED),
        event("InstanceStopping"),
    ]

    assert [(found.claim, found.cause) for found in interruptions(events)] == [
        ("lab-gpu-12345", InterruptionCause.STOPPED),
        ("lab-gpu-bbbbb", InterruptionCause.SPOT),
    ]
