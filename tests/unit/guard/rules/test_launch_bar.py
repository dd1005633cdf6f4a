"""The guard's rules about NodePools: the launch bar, a size without a lease, and a controller that does not answer."""

from dataclasses import replace
from datetime import datetime

import pytest

from lamplighter.domain.capacity.evidence import Bar, Claim
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.nodes import surplus
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import reason
from tests.guard_facts import instance, lease, pool
from tests.leases import EIGHT, MINUTE

AT_TEN = EIGHT + 120 * MINUTE


def barred(facts: PoolFacts, until: datetime | None, **more) -> PoolFacts:
    """The same pool as a NodePool with a launch bar."""
    return replace(facts, seen=replace(facts.seen, kind=KARPENTER.code, bar=Bar(until, **more)))


def unseen(facts: PoolFacts, *ended: int) -> PoolFacts:
    """The same pool where Kubernetes does not answer, and the guard ended strays so many minutes ago."""
    earlier = tuple(
        EarlierBreach(Rule.STRAY_INSTANCE, GuardAction.TERMINATE, None, EIGHT - ago * MINUTE) for ago in ended
    )
    nothing = replace(facts.seen, kind=KARPENTER.code, exists=False, ordered=0, controller=None)
    return replace(facts, seen=nothing, earlier=earlier)


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


def test_a_claim_that_stays_without_a_lease_is_deleted_before_it_is_launched() -> None:
    def with_claims(facts: PoolFacts, *claims: Claim) -> PoolFacts:
        found = barred(facts, None)
        return replace(found, seen=replace(found.seen, claims=claims))

    alone = Claim("lab-gpu-12345")

    [breach] = sweep(with_claims(pool(), alone, Claim("lab-gpu-67890", leaving=True)))

    assert (breach.rule, breach.action, breach.target) == (Rule.SIZE_WITHOUT_LEASE, GuardAction.SCALE_BACK, 0)
    assert breach.reason == reason("guard.only-claims", pool="gpu", names=("lab-gpu-12345",))
    assert sweep(with_claims(pool(), replace(alone, leaving=True))) == ()
    assert not list(surplus(with_claims(pool(lease()), alone)))
    closing = with_claims(pool(lease(closes=-5, state=LeaseState.CLOSING)), alone)
    assert not list(surplus(replace(closing, closing_since=EIGHT - MINUTE)))


def test_a_limit_that_gitops_wrote_back_is_said_and_nothing_is_closed() -> None:
    facts = replace(barred(pool(), None), ours=False)
    raised = reason("guard.raised.limit", name="theirs", limit=5, written=0)

    [breach] = sweep(replace(facts, seen=replace(facts.seen, raised_by=raised)))

    assert (breach.rule, breach.action, breach.reason) == (Rule.SIZES_CHANGED, GuardAction.SAY, raised)


def test_where_the_controller_does_not_answer_leased_instances_stay_and_others_end() -> None:
    leased = pool(lease(nodes=1), strays=[instance("i-1"), instance("i-2")])

    [breach] = [found for found in sweep(unseen(leased)) if found.action is GuardAction.TERMINATE]

    assert (breach.rule, breach.instances) == (Rule.STRAY_INSTANCE, ("i-2",))


def strays_of(facts: PoolFacts) -> list[tuple[GuardAction, tuple[str, ...]]]:
    return [(found.action, found.instances) for found in sweep(facts) if found.rule is Rule.STRAY_INSTANCE]


def test_what_a_living_controller_starts_for_an_ended_node_is_paged_and_not_ended_again() -> None:
    came = [instance("i-1", minutes=-90), instance("i-2", minutes=-40), instance("i-3", minutes=-5)]
    leased = pool(lease(nodes=1), strays=came)

    assert strays_of(unseen(leased)) == [(GuardAction.TERMINATE, ("i-3", "i-2"))]
    assert strays_of(unseen(leased, 10)) == [
        (GuardAction.TERMINATE, ("i-2",)),
        (GuardAction.PAGE, ("i-3",)),
    ]
    [page] = [found for found in sweep(unseen(leased, 10)) if found.action is GuardAction.PAGE]
    assert page.reason == reason("guard.stray.replacements", instances=("i-3",), pool="gpu")


def test_an_ended_node_that_goes_on_is_ended_again() -> None:
    leased = pool(lease(nodes=1), strays=[instance("i-1", minutes=-90), instance("i-2", minutes=-40)])

    assert strays_of(unseen(leased, 10, 5)) == [(GuardAction.TERMINATE, ("i-2",))]


def test_without_a_lease_every_instance_ends_whatever_was_ended_before() -> None:
    came = pool(strays=[instance("i-1", minutes=-90), instance("i-2", minutes=-5)])

    assert strays_of(unseen(came, 10)) == [(GuardAction.TERMINATE, ("i-2", "i-1"))]


def test_where_the_controller_answers_a_stray_of_after_an_end_ends_too() -> None:
    leased = pool(lease(nodes=1), running=["i-1"], strays=[instance("i-2", minutes=-5)])
    ended = EarlierBreach(Rule.STRAY_INSTANCE, GuardAction.TERMINATE, None, EIGHT - 10 * MINUTE)

    assert strays_of(replace(leased, earlier=(ended,))) == [(GuardAction.TERMINATE, ("i-2",))]


def test_where_the_controller_does_not_answer_a_close_of_our_own_has_its_time() -> None:
    over = unseen(pool(lease(closes=-5), strays=[instance("i-1")]))

    assert not [found for found in sweep(over) if found.action is GuardAction.TERMINATE]
    [later] = [
        found
        for found in sweep(replace(over, now=EIGHT + 3 * MINUTE))
        if found.action is GuardAction.TERMINATE
    ]
    assert later.instances == ("i-1",)
