"""The judgement of the act on Karpenter: law 1 is held by the API server, and broken by a node or a size that stays."""

from dataclasses import replace
from datetime import timedelta

from local.demo.karpenter_laws import ByHand, judge
from local.demo.laws import Day, LawVerdict
from tests.local.demo.test_demo_laws import GOOD, OPENS, sample

SCALED = OPENS + timedelta(minutes=89)
BY_HAND = ByHand(SCALED, refused=True, back=SCALED + timedelta(minutes=4))
DAY = replace(GOOD, samples=[*GOOD.samples[:5], sample(90, desired=1), sample(94)])


def law_1(day: Day, by_hand: ByHand = BY_HAND) -> LawVerdict:
    return judge(day, by_hand)[0]


def test_a_size_without_a_lease_that_starts_nothing_and_is_set_back_holds_law_1() -> None:
    verdict = law_1(DAY)

    assert verdict.held
    assert "refused" in verdict.evidence


def test_the_other_laws_are_those_of_any_day() -> None:
    assert [verdict.law for verdict in judge(DAY, BY_HAND)] == list(range(1, 11))
    assert judge(replace(DAY, receipts=[]), BY_HAND)[6].held is False


def test_a_node_that_starts_breaks_law_1() -> None:
    verdict = law_1(replace(DAY, samples=[*DAY.samples[:-1], sample(92, ["c"]), sample(94)]))

    assert verdict.held is False
    assert "in EC2" in verdict.evidence


def test_a_node_that_runs_on_past_its_lease_breaks_law_1() -> None:
    assert law_1(replace(DAY, samples=[*GOOD.samples[:4], sample(80, ["a"]), sample(90)])).held is False


def test_without_a_refusal_law_1_is_not_held() -> None:
    assert law_1(DAY, replace(BY_HAND, refused=False)).held is False
    assert law_1(DAY, replace(BY_HAND, at=None)).held is False


def test_a_size_that_stays_or_stays_long_breaks_law_1() -> None:
    assert law_1(DAY, replace(BY_HAND, back=None)).held is False
    assert law_1(DAY, replace(BY_HAND, back=SCALED + timedelta(minutes=9))).held is False
