"""What people hear of a leased node that goes: EC2 takes it away, or its life ends before its lease."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.evidence import Claim, Interruption, InterruptionCause
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.reasons.reason import reason
from tests.builders.guard_facts import lease, pool
from tests.builders.leases import EIGHT, MINUTE

SPOT = reason("guard.interrupted.spot")


def interrupted(
    *leases: Lease, minutes: int = -2, cause: InterruptionCause = InterruptionCause.SPOT
) -> PoolFacts:
    """A pool whose leases have their two nodes again."""
    facts = pool(*leases, running=["i-2", "i-3"], leaving=["i-1"])
    found = Interruption("lab-gpu-12345", EIGHT + minutes * MINUTE, cause)
    return replace(facts, seen=replace(facts.seen, interruptions=(found,)))


def test_it_is_reported_for_its_lease_with_the_cause() -> None:
    [breach] = sweep(interrupted(lease()))

    assert (breach.rule, breach.action) == (Rule.NODE_INTERRUPTED, GuardAction.SAY)
    assert (breach.lease, breach.subject) == ("evening", "lab-gpu-12345")
    assert breach.reason == reason("guard.interrupted", pool="gpu", claim="lab-gpu-12345", why=SPOT)
    # With two leases nobody knows whose node it was, and one of before the lease is history.
    assert [each.lease for each in sweep(interrupted(lease(nodes=1), lease("night", nodes=1)))] == [None]
    assert sweep(interrupted(lease(), minutes=-61)) == ()


@pytest.mark.parametrize("cause", InterruptionCause)
def test_every_cause_has_its_sentence(cause: InterruptionCause) -> None:
    [breach] = sweep(interrupted(lease(), cause=cause))
    assert f"(NodeClaim lab-gpu-12345): {reason(f'guard.interrupted.{cause.value}')};" in str(breach.reason)


def ending(*leases: Lease, minutes: int, leaving: bool = False) -> PoolFacts:
    """A pool whose leases have their nodes; the life of one node ends in so many minutes."""
    facts = pool(*leases, running=["i-1", "i-2"])
    claim = Claim("lab-gpu-12345", "i-1", expires=EIGHT + minutes * MINUTE, leaving=leaving)
    return replace(facts, seen=replace(facts.seen, claims=(claim,)))


def test_the_end_of_a_life_in_a_lease_is_reported_with_its_instant() -> None:
    [breach] = sweep(ending(lease(), minutes=30))

    assert (breach.rule, breach.action) == (Rule.NODE_LIFE_ENDS, GuardAction.SAY)
    assert (breach.lease, breach.subject) == ("evening", "lab-gpu-12345")
    assert breach.reason == reason(
        "guard.life-ends", pool="gpu", claim="lab-gpu-12345", at=EIGHT + 30 * MINUTE
    )
    assert [each.lease for each in sweep(ending(lease(nodes=1), lease("night", nodes=1), minutes=10))] == [
        None
    ]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (ending(lease(), minutes=31), "it is not soon"),
        (ending(lease(), minutes=10, leaving=True), "it is replaced already"),
        (ending(replace(lease(), state=LeaseState.OPENING), minutes=10), "the opening may still replace it"),
        (ending(replace(lease(), closes=EIGHT + 9 * MINUTE), minutes=10), "its lease ends before"),
    ],
)
def test_it_is_reported_of_no_node_that_people_do_not_lose(facts: PoolFacts, why: str) -> None:
    assert [breach for breach in sweep(facts) if breach.rule is Rule.NODE_LIFE_ENDS] == [], why
