"""The zones of a cluster that the deploy creates: letters that an account lacks, and zones that EKS refuses."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.doctor import zones
from lamplighter.domain.doctor.line import Judgement, unwell, well
from tests.drawn import drawn
from tests.unit.doctor.cases import ADOPTS, BEFORE, FACTS, NOW, lab

# As us-east-1 may be dealt to an account: c is the zone that EKS refuses.
DEALT = {
    "us-east-1a": "use1-az1",
    "us-east-1b": "use1-az2",
    "us-east-1c": "use1-az3",
    "us-east-1f": "use1-az5",
}

PLACE = "under cluster, with as many subnets of each kind under vpc"


def judged(ids: dict[str, str], *named: str) -> list[Judgement]:
    wanted = lab(region=named[0][:-1], cluster={"zones": list(named)})
    return [drawn(each) for each in zones.zones(replace(BEFORE, zones=ids), wanted, NOW)]


def test_a_zone_that_eks_refuses_is_told_with_others_in_its_place() -> None:
    assert judged(DEALT, "us-east-1a", "us-east-1b", "us-east-1c") == [
        unwell(
            "EKS takes no subnet in us-east-1c, which is use1-az3 in this account",
            f"write zones: [us-east-1a, us-east-1b, us-east-1f] {PLACE}",
        )
    ]


def test_a_letter_that_the_account_lacks_is_told() -> None:
    two = {"us-west-1a": "usw1-az3", "us-west-1b": "usw1-az1"}
    assert judged(two, "us-west-1a", "us-west-1c") == [
        unwell(
            "this account has no zone us-west-1c",
            f"write zones: [us-west-1a, us-west-1b] {PLACE}",
        )
    ]


def test_an_account_with_one_usable_zone_needs_another_region() -> None:
    found = judged(
        {"ca-central-1a": "cac1-az1", "ca-central-1d": "cac1-az3"}, "ca-central-1a", "ca-central-1d"
    )
    assert [each.advice for each in found] == [
        "EKS needs two zones, and this account has fewer here: take another region"
    ]


@pytest.mark.parametrize(("facts", "more", "said"), [
    (BEFORE, {}, "EKS can put the cluster into ap-northeast-2a, ap-northeast-2b and ap-northeast-2c"),
    (FACTS, {}, "cluster lab is in its zones and stays there"),
    (BEFORE, ADOPTS, "cluster theirs is in its zones and stays there"),
])  # fmt: skip
def test_good_zones_are_ok_and_those_of_a_cluster_are_settled(facts: Any, more: Any, said: str) -> None:
    assert [drawn(each) for each in zones.zones(facts, lab(**more), NOW)] == [well(said)]
