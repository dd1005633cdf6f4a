"""A leased node that EC2 takes away is reported once, with its cause, and nothing is closed for it."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.evidence import Interruption, InterruptionCause
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason
from tests.guard_facts import lease, pool
from tests.leases import EIGHT, MINUTE

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


@pytest.mark.parametrize("cause", InterruptionCause)
def test_every_cause_has_its_sentence(cause: InterruptionCause) -> None:
    [breach] = sweep(interrupted(lease(), cause=cause))

    assert f"(NodeClaim lab-gpu-12345): {reason(f'guard.interrupted.{cause.value}')};" in str(breach.reason)


def test_with_two_leases_nobody_knows_whose_node_it_was() -> None:
    [breach] = sweep(interrupted(lease(nodes=1), lease("night", nodes=1)))

    assert breach.lease is None


def test_one_of_before_the_lease_is_history() -> None:
    assert sweep(interrupted(lease(), minutes=-61)) == ()
