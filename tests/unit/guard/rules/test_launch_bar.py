"""The guard's rules about NodePools: the launch bar, a size without a lease, and a controller that does not answer."""

from dataclasses import replace
from datetime import datetime

import pytest

from lamplighter.domain.capacity.evidence import Bar, Claim
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import reason
from tests.unit.guard.test_guard import EIGHT, MINUTE, instance, lease, pool

AT_TEN = EIGHT + 120 * MINUTE


def barred(facts: PoolFacts, until: datetime | None, **more) -> PoolFacts:
    """The same pool as a NodePool with a launch bar."""
    return replace(facts, seen=replace(facts.seen, kind=KARPENTER.code, bar=Bar(until, **more)))


def test_a_bar_that_opens_exactly_while_leases_run_is_no_breach() -> None:
    assert sweep(barred(pool(lease(), running=["i-1", "i-2"]), AT_TEN)) == ()
    assert sweep(barred(pool(), None)) == ()
    assert sweep(barred(pool(), EIGHT)) == ()


@pytest.mark.parametrize("until", [AT_TEN - MINUTE, AT_TEN + MINUTE, None])
def test_a_bar_that_is_not_the_end_of_the_leases_is_moved(until: datetime | None) -> None:
    [breach] = sweep(barred(pool(lease(), running=["i-1", "i-2"]), until))

    assert (breach.rule, breach.action) == (Rule.LAUNCH_BAR_WRONG, GuardAction.MOVE_BAR)
    stands = reason("guard.bar.shut") if until is None else until
    assert breach.reason == reason("guard.bar.other", pool="gpu", until=AT_TEN, at=stands)


def test_a_bar_that_is_open_without_a_lease_is_moved() -> None:
    [breach] = sweep(barred(pool(), AT_TEN))

    assert (breach.rule, breach.action) == (Rule.LAUNCH_BAR_WRONG, GuardAction.MOVE_BAR)
    assert breach.reason == reason("guard.bar.open", pool="gpu", at=AT_TEN)


def test_a_bar_that_nobody_reads_is_moved_before_anything_is_paged() -> None:
    missing = reason("guard.bar.missing", pool="gpu", policy="lab-launch-bar")

    [shut] = sweep(barred(pool(), None, unreadable=True, wrong=missing))
    [moved] = sweep(barred(pool(lease(), running=["i-1", "i-2"]), None, unreadable=True, wrong=missing))

    assert (shut.action, shut.reason) == (GuardAction.MOVE_BAR, reason("guard.bar.unreadable", pool="gpu"))
    stands = reason("guard.bar.no-instant")
    assert (moved.action, moved.reason) == (
        GuardAction.MOVE_BAR,
        reason("guard.bar.other", pool="gpu", until=AT_TEN, at=stands),
    )


def test_a_lease_that_only_begins_has_time_to_open_its_bar() -> None:
    assert sweep(barred(pool(lease(state=LeaseState.OPENING)), None)) == ()


def test_a_bar_that_the_api_server_does_not_follow_pages() -> None:
    missing = reason("guard.bar.missing", pool="gpu", policy="lab-launch-bar")

    [breach] = sweep(barred(pool(), None, wrong=missing))

    assert (breach.rule, breach.action, breach.reason) == (
        Rule.LAUNCH_BAR_WRONG,
        GuardAction.PAGE,
        missing,
    )


def test_the_bar_of_a_watched_pool_is_nobodys_business() -> None:
    assert sweep(replace(barred(pool(), AT_TEN), enforcing=False)) == ()


def test_a_size_that_nothing_came_of_is_set_back_and_closes_nothing() -> None:
    [breach] = sweep(barred(pool(desired=2), None))

    assert (breach.rule, breach.action) == (Rule.SIZE_WITHOUT_LEASE, GuardAction.SCALE_BACK)
    assert breach.reason == reason("guard.only-a-size", pool="gpu", nodes=2)


def test_a_size_with_a_claim_is_closed() -> None:
    facts = barred(pool(desired=2), None)

    [breach] = sweep(replace(facts, seen=replace(facts.seen, claims=(Claim("lab-gpu-12345"),))))

    assert (breach.rule, breach.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE)


def test_a_limit_that_gitops_wrote_back_is_said_and_nothing_is_closed() -> None:
    facts = replace(barred(pool(), None), ours=False)
    raised = reason("guard.raised.limit", name="theirs", limit=5, written=0)

    [breach] = sweep(replace(facts, seen=replace(facts.seen, raised_by=raised)))

    assert (breach.rule, breach.action, breach.reason) == (Rule.SIZES_CHANGED, GuardAction.SAY, raised)


def test_where_the_controller_does_not_answer_leased_instances_stay_and_others_end() -> None:
    leased = pool(lease(nodes=1), strays=[instance("i-1"), instance("i-2")])
    unseen = replace(leased, seen=replace(leased.seen, exists=False, ordered=0, controller=None))

    [breach] = [found for found in sweep(unseen) if found.action is GuardAction.TERMINATE]

    assert (breach.rule, breach.instances) == (Rule.STRAY_INSTANCE, ("i-1",))


def test_where_the_controller_does_not_answer_a_close_of_our_own_has_its_time() -> None:
    over = pool(lease(closes=-5), strays=[instance("i-1")])
    unseen = replace(over, seen=replace(over.seen, exists=False, ordered=0, controller=None))

    assert not [found for found in sweep(unseen) if found.action is GuardAction.TERMINATE]
    [later] = [
        found
        for found in sweep(replace(unseen, now=EIGHT + 3 * MINUTE))
        if found.action is GuardAction.TERMINATE
    ]
    assert later.instances == ("i-1",)
