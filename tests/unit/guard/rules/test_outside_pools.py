"""What the guard decides about GPU instances that belong to no pool: whether and how it ends one, and when."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.evidence import Claim
from lamplighter.domain.guard.breach import Breach, EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.node_pools.outside import LEFT_FOR, NEXT_SWEEP, UNHEARD
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance, outside_instance
from lamplighter.reasons.reason import in_english
from tests.builders.guard_facts import instance, pool
from tests.builders.leases import EIGHT, MINUTE

OF_KARPENTER = {"karpenter.sh/nodepool": "theirs"}
OF_AUTO_MODE = {"eks:kubernetes-node-pool-name": "general"}
CLAIM = Claim("theirs-1", "i-1")


def one(
    name: str = "i-1",
    tags: Mapping[str, str] = OF_KARPENTER,
    claim: Claim | None = CLAIM,
    group: str | None = None,
) -> OutsideInstance:
    return outside_instance(instance(name, group=group), tags, {name: claim} if claim else {})


def facts(*found: OutsideInstance, said: timedelta | None = None, subject: str = "theirs") -> PoolFacts:
    """An enforcing lab in its own cluster; `said` ago a sweep reported the subject."""
    earlier = () if said is None else (earlier_of(subject, said),)
    return replace(pool(), outside=found, ends_outside=True, earlier=earlier)


def earlier_of(subject: str, ago: timedelta, action: GuardAction = GuardAction.PAGE) -> EarlierBreach:
    return EarlierBreach(Rule.GPU_OUTSIDE_POOLS, action, None, EIGHT - ago, subject=subject)


def judged(facts: PoolFacts) -> list[tuple[GuardAction, str, tuple[str, ...]]]:
    return [(each.action, each.subject, each.instances) for each in sweep(facts)]


def said(breaches: tuple[Breach, ...]) -> str:
    [breach] = breaches
    return in_english(breach.reason)


def leaving(ago: timedelta) -> Claim:
    return replace(CLAIM, leaving=True, left=EIGHT - ago)


def test_the_first_sweep_says_what_the_next_one_does() -> None:
    found = facts(one("i-1"), one("i-2"))

    assert judged(found) == [(GuardAction.PAGE, "theirs", ())]
    assert said(sweep(found)) == (
        "GPU instances i-1 and i-2 of NodePool theirs belong to no pool of the lab; the next sweep deletes the"
        " NodeClaims, and NodePool theirs starts others until somebody scales it to 0, sets its limits to 0 or"
        " deletes it"
    )


@pytest.mark.parametrize(
    ("ago", "ends"), [(NEXT_SWEEP - timedelta(seconds=1), False), (NEXT_SWEEP, True), (55 * MINUTE, True)]
)
def test_it_waits_for_the_next_sweep_and_not_for_one_that_an_event_starts(ago: timedelta, ends: bool) -> None:
    expected = [(GuardAction.END_CLAIMS, "theirs", ("i-1",))] if ends else []
    assert judged(facts(one(), said=ago)) == expected


def test_the_end_of_claims_is_said_with_their_names() -> None:
    assert said(sweep(facts(one(), said=NEXT_SWEEP))).endswith("; the guard deletes NodeClaims theirs-1")


def test_a_notice_about_another_one_is_none() -> None:
    assert judged(facts(one(), said=5 * MINUTE, subject="other")) == [(GuardAction.PAGE, "theirs", ())]


def test_a_report_without_an_announcement_is_none() -> None:
    """While Kubernetes was silent, or a pool was watched, the guard said that it ends nothing."""
    only_said = earlier_of("theirs", 5 * MINUTE, GuardAction.SAY)
    assert judged(replace(facts(one()), earlier=(only_said,))) == [(GuardAction.PAGE, "theirs", ())]


@pytest.mark.parametrize(
    ("tries", "heard", "expected"),
    [
        ((10 * MINUTE, 5 * MINUTE), False, GuardAction.PAGE),
        ((10 * MINUTE, 5 * MINUTE), True, GuardAction.END_CLAIMS),
        ((UNHEARD - timedelta(seconds=1), 5 * MINUTE), False, GuardAction.PAGE),
        ((UNHEARD, 10 * MINUTE, 5 * MINUTE), False, GuardAction.END_CLAIMS),
    ],
    ids=["nobody heard", "heard at last", "not long enough", "money runs"],
)
def test_an_announcement_that_nobody_took_is_tried_again_for_a_while(
    tries: tuple[timedelta, ...], heard: bool, expected: GuardAction
) -> None:
    earlier = [replace(earlier_of("theirs", ago), unsent=True) for ago in tries]
    earlier[-1] = replace(earlier[-1], unsent=not heard)

    assert [each[0] for each in judged(replace(facts(one()), earlier=tuple(earlier)))] == [expected]


@pytest.mark.parametrize(
    ("found", "subject", "action"),
    [
        (one(), "theirs", GuardAction.END_CLAIMS),
        (one(tags=OF_AUTO_MODE), "general", GuardAction.END_CLAIMS),
        (one(tags={}), "i-1", GuardAction.END_CLAIMS),
        (one(claim=None), "theirs", GuardAction.END_OUTSIDE),
        (one(tags={}, claim=None), "i-1", GuardAction.END_OUTSIDE),
        (one(claim=leaving(LEFT_FOR)), "theirs", GuardAction.END_OUTSIDE),
        (one(tags=OF_AUTO_MODE, claim=None), "general", GuardAction.SAY),
        (one(tags=OF_AUTO_MODE, claim=leaving(LEFT_FOR)), "general", GuardAction.SAY),
        (one(tags={"eks:nodegroup-name": "by-hand"}, claim=None, group="eks-by-hand"), "i-1", GuardAction.SAY),
        (replace(one(), claim=None, claims_read=False), "theirs", GuardAction.SAY),
    ],
    ids=[
        "of another NodePool",
        "of Auto Mode",
        "a claim of no NodePool",
        "Karpenter's without a claim",
        "joined by hand",
        "its claim leaves without end",
        "of Auto Mode without a claim",
        "of Auto Mode, its claim leaves without end",
        "of an Auto Scaling group",
        "claims not read",
    ],
)  # fmt: skip
def test_each_is_ended_by_its_own_way(found: OutsideInstance, subject: str, action: GuardAction) -> None:
    ended = () if action is GuardAction.SAY else ("i-1",)
    assert judged(facts(found, said=5 * MINUTE, subject=subject)) == [(action, subject, ended)]


def test_while_its_claim_leaves_nothing_more_is_done() -> None:
    assert judged(facts(one(claim=leaving(LEFT_FOR - MINUTE)), said=5 * MINUTE)) == []


def test_claims_and_strays_of_one_node_pool_go_each_by_its_way() -> None:
    found = facts(one("i-1"), one("i-2", claim=None), said=5 * MINUTE)

    assert set(judged(found)) == {
        (GuardAction.END_CLAIMS, "theirs", ("i-1",)),
        (GuardAction.END_OUTSIDE, "theirs", ("i-2",)),
    }


def test_where_it_may_not_end_them_it_only_says_so() -> None:
    allowed = facts(one(), said=5 * MINUTE)

    for found in (
        replace(allowed, ends_outside=False),
        replace(pool(), outside=allowed.outside, earlier=allowed.earlier),
        replace(allowed, enforcing=False),
        replace(allowed, ours=False, other_claim=LabClaim("another-lab")),
    ):
        breaches = tuple(each for each in sweep(found) if each.rule is Rule.GPU_OUTSIDE_POOLS)
        assert [each.action for each in breaches] == [GuardAction.SAY]
        assert said(breaches).endswith("belongs to no pool of the lab; the guard ends nothing there")


def test_an_instance_whose_node_pool_has_the_id_of_another_one_is_told_by_itself() -> None:
    found = facts(one("i-1", {}, None), one("i-2", {"karpenter.sh/nodepool": "i-1"}, None))

    assert judged(found) == [(GuardAction.PAGE, "i-1", ())] * 2
