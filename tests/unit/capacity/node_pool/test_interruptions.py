"""Which nodes EC2 took away and why, by Karpenter's events, and which node repair ended, by their claims."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.evidence import Claim, Interruption, InterruptionCause
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.domain.capacity.node_pool.interruptions import interruptions
from tests.builders.leases import EIGHT

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


REPAIRED = Claim("lab-gpu-12345", "i-1", leaving=True, left=EIGHT, grace=timedelta(minutes=10), ends_at=EIGHT)


def test_a_claim_whose_end_had_no_time_from_the_start_was_repaired() -> None:
    found = interruptions([], [REPAIRED, replace(REPAIRED, name="lab-gpu-bbbbb", grace=None)])

    assert found == (
        Interruption("lab-gpu-12345", EIGHT, InterruptionCause.REPAIRED),
        Interruption("lab-gpu-bbbbb", EIGHT, InterruptionCause.REPAIRED),
    )


@pytest.mark.parametrize(
    "other",
    [
        replace(REPAIRED, ends_at=EIGHT + timedelta(minutes=10)),
        replace(REPAIRED, ends_at=None),
        replace(REPAIRED, limited=True),
        replace(REPAIRED, grace=timedelta()),
        replace(REPAIRED, leaving=False, left=None),
    ],
    ids=["its grace", "no limit", "the lab's limit", "a grace of zero", "not deleted"],
)
def test_any_other_end_of_a_claim_is_no_repair(other: Claim) -> None:
    assert interruptions([], [other]) == ()


def test_what_ec2_takes_away_is_told_as_that_alone() -> None:
    [found] = interruptions([event("SpotInterrupted"), event(DECIDED)], [REPAIRED])
    assert found.cause is InterruptionCause.SPOT
