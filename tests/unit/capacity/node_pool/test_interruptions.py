"""Which nodes EC2 took away and why, which node repair ended, and when the end of a claim gets a limit of the lab."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.evidence import Claim, Interruption, InterruptionCause
from lamplighter.domain.capacity.node_pool.ending import limit
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.domain.capacity.node_pool.interruptions import interruptions
from tests.builders.leases import EIGHT, MINUTE

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
    repaired = replace(REPAIRED, name="lab-gpu-bbbbb")
    assert [found.claim for found in interruptions([], [other, repaired])] == ["lab-gpu-bbbbb"]


def test_what_ec2_takes_away_is_told_as_that_alone() -> None:
    [found] = interruptions([event("SpotInterrupted"), event(DECIDED)], [REPAIRED])
    assert found.cause is InterruptionCause.SPOT


LONGEST = 10 * MINUTE


@pytest.mark.parametrize("grace", [None, 24 * 60 * MINUTE, 11 * MINUTE])
def test_a_grace_that_is_longer_or_endless_is_limited(grace: timedelta | None) -> None:
    assert limit(Claim("a", grace=grace), LONGEST, EIGHT) == EIGHT + LONGEST


@pytest.mark.parametrize("grace", [timedelta(), MINUTE, 10 * MINUTE])
def test_a_grace_that_is_no_longer_stays(grace: timedelta) -> None:
    assert limit(Claim("a", grace=grace), LONGEST, EIGHT) is None


def test_a_limit_that_stands_counts_and_not_the_grace() -> None:
    soon = Claim("a", grace=24 * 60 * MINUTE, ends_at=EIGHT + MINUTE)
    late = Claim("a", grace=MINUTE, ends_at=EIGHT + 11 * MINUTE)
    assert limit(soon, LONGEST, EIGHT) is None
    assert limit(late, LONGEST, EIGHT) == EIGHT + LONGEST
