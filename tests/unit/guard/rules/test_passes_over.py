"""What a rule of the guard leaves alone, and that it goes on to the next: nodes, sizes, runs, failsafe, claims."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.evidence import Change, Changing, Controller
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.domain.capacity.node_group.seen import raised_by
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.experiments import experiments
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.failsafe import failsafe
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.guard.leak import leak
from lamplighter.domain.guard.nodes import leases_past_their_end, shortfall, strays, surplus
from lamplighter.domain.guard.sizes import sizes
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import Reason, reason
from tests.builders.guard_facts import earlier, instance, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE

ROLLING = Change(Changing.REPLACING, EIGHT)
READY = replace(lease(), ready=EIGHT - 30 * MINUTE)
JUSTIFIED = reason("lease.justifies", lease=READY.called(), nodes=2, until=EIGHT + 120 * MINUTE)
TARGET = reason("pool.justified", leases=(JUSTIFIED,))
LOWERED = Breach(
    Rule.FEWER_NODES_THAN_LEASES,
    reason("guard.fewer-nodes", pool="gpu", nodes=1, justified=2, target=TARGET),
    GuardAction.SAY,
)


def test_a_pool_is_lowered_where_nodes_that_were_ready_are_not_even_ordered() -> None:
    to_come = lease("next", opens=60, state=LeaseState.ADMITTED)

    assert judge(shortfall, pool(READY, running=["i-1"])) == (LOWERED,)
    assert judge(shortfall, pool(READY, to_come, running=["i-1"])) == (LOWERED,)
    assert judge(shortfall, pool(READY, running=["i-1", "i-2"])) == ()
    assert judge(shortfall, pool(READY, running=["i-1"], desired=2)) == ()


def test_nodes_that_leave_with_their_pods_are_not_missed() -> None:
    facts = pool(READY, running=["i-1"])
    assert judge(shortfall, replace(facts, seen=replace(facts.seen, dynamic=True))) == ()


@pytest.mark.parametrize(
    "facts",
    [
        pool(lease(), running=["i-1"]),
        pool(replace(READY, state=LeaseState.OPENING), running=["i-1"]),
        pool(replace(READY, nodes=3, missing=1), running=["i-1"]),
        pool(READY, lease("other", nodes=1), running=["i-1"]),
        seen(pool(READY, running=["i-1"]), controller=None),
        seen(pool(READY, running=["i-1"]), change=ROLLING),
    ],
)
def test_nobody_lowered_a_pool_that_is_still_at_it_or_that_nobody_can_see(facts: PoolFacts) -> None:
    assert judge(shortfall, facts) == ()


def test_a_lease_past_its_end_is_found_behind_one_that_runs_and_one_that_is_closed() -> None:
    there = (lease("runs"), lease("closed", closes=-5, state=LeaseState.CLOSED), lease(closes=-5))
    assert [each.lease for each in judge(leases_past_their_end, pool(*there))] == ["evening"]


def test_strays_are_left_where_leases_leave_room_for_exactly_as_many() -> None:
    two = [instance("i-8"), instance("i-9")]

    assert judge(strays, pool(lease(nodes=2), strays=two)) == ()
    assert [each.instances for each in judge(strays, pool(lease(nodes=1), strays=two))] == [("i-9",)]
    [one] = judge(strays, pool(lease(nodes=2), running=["i-1"], strays=two))
    assert (one.instances, one.target) == (("i-9",), 2)
    assert [each.instances for each in judge(strays, pool(running=["i-1"], strays=two))] == [("i-9", "i-8")]


def test_a_surplus_that_a_close_is_at_already_is_left_to_it() -> None:
    facts = pool(running=["i-1"])
    assert len(judge(surplus, facts)) == 1
    assert judge(surplus, replace(facts, closing_since=EIGHT - MINUTE)) == ()
    assert judge(surplus, pool()) == ()


SET = "At 2026-11-20T19:58:00Z a user request explicitly set group desired capacity"
BOUNDS, LAUNCH, END = (
    "a user request update of constraints",
    "Launching a new EC2 instance",
    "Terminating EC2 instance",
)
DIRECTLY = reason("guard.raised.directly")


@pytest.mark.parametrize(
    ("ordered", "activities", "raised"),
    [
        (None, [(LAUNCH, SET)], DIRECTLY),
        (1, [(LAUNCH, SET)], DIRECTLY),
        # The newest launch tells it.
        (None, [(END, "x"), (LAUNCH, SET)], DIRECTLY),
        (None, [(LAUNCH, "x"), ("Launching another", SET)], None),
        (None, [(END, SET)], None),
        (None, [], None),
        (0, [(LAUNCH, BOUNDS)], reason("guard.raised.past-eks")),
        (1, [(LAUNCH, BOUNDS)], None),
    ],
)
def test_who_asked_for_the_surplus_is_named(
    ordered: int | None, activities: list[tuple[str, str]], raised: Reason | None
) -> None:
    found = [ScalingActivity("1", "Successful", what, "", EIGHT, EIGHT, cause) for what, cause in activities]
    assert raised_by(ordered, Controller("eks-gpu", 0, 2, 1), found) == raised


def test_sizes_of_a_group_that_is_not_there_or_that_eks_is_at_are_left() -> None:
    facts = pool()
    raised = seen(facts, minimum=1)

    assert [each.action for each in judge(sizes, raised)] == [GuardAction.RESTORE_SIZES]
    assert judge(sizes, seen(raised, change=ROLLING)) == ()
    assert judge(sizes, seen(raised, exists=False)) == ()
    assert judge(sizes, replace(raised, ours=False)) == ()


def test_what_else_was_said_before_a_failsafe_failed_does_not_hide_it() -> None:
    said = (
        earlier(Rule.SIZES_CHANGED, -25, GuardAction.NOTE, None),
        earlier(Rule.FAILSAFE_WRONG, -20, GuardAction.FAILED, None),
        earlier(Rule.FAILSAFE_WRONG, -10, name="other"),
        earlier(Rule.FAILSAFE_WRONG, -5, GuardAction.FAILED, None),
    )
    facts = replace(pool(lease(), running=["i-1", "i-2"]), failsafe_found=(), earlier=said)

    found = judge(failsafe, facts)

    assert [each.action for each in found] == [GuardAction.REARM, GuardAction.WARN]
    why = reason("guard.failsafe.cannot-be-set", pool="gpu", since=EIGHT - 20 * MINUTE)
    assert found[1].reason == reason("guard.ends-early", why=why, at=EIGHT + 15 * MINUTE)


def test_in_a_pool_that_another_lab_claims_not_even_an_ended_lease_is_closed() -> None:
    facts = replace(pool(lease(closes=-5), running=["i-1"]), ours=False, other_claim=LabClaim("physics"))

    [breach] = judge(leases_past_their_end, facts)

    assert breach.action is GuardAction.SAY
    assert isinstance(breach.reason, Reason)
    assert breach.reason.code == "guard.claimed-too"


def test_a_leak_of_which_no_instance_is_left_ends_none_by_force() -> None:
    facts = replace(pool(), kubernetes_nodes=("a.internal",), incident=Incident(EIGHT - 60 * MINUTE))
    assert [each.action for each in judge(leak, facts)] == [GuardAction.PAGE, GuardAction.CLOSE]


def test_a_pool_without_an_experiment_has_none_to_restore() -> None:
    assert judge(experiments, pool(lease())) == ()
