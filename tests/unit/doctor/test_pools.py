"""The doctor's limits for pools and account: ages of images and prices, quotas, zones and trails."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.data import prices
from lamplighter.data.instance_types import quota_code
from lamplighter.domain.doctor.facts import Facts, PoolGroup, Trail
from lamplighter.domain.doctor.line import Judgement, LineOutcome, Unread, unknown, unwell, well
from lamplighter.domain.money.price import Price, Source
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.unit.doctor.cases import ADOPTS, BEFORE, FACTS, GROUP, NOW, REFUSED, group, lab, on, said
from tests.unit.doctor.told import account, deployed_lab, instance_capacity, pools

OK, NOT_OK, NOT_KNOWN = LineOutcome.OK, LineOutcome.NOT_OK, LineOutcome.NOT_KNOWN

STATED = "state it in the lab: pools.gpu.price_per_hour, in USD"


def outcomes(found: Iterator[Judgement]) -> list[LineOutcome]:
    return [one.outcome for one in found]


@pytest.mark.parametrize(
    ("days", "outcome", "age"), [(1, OK, "1 day"), (180, OK, "180 days"), (181, NOT_OK, "181 days")]
)
def test_an_image_is_old_after_180_days(days: int, outcome: LineOutcome, age: str) -> None:
    (found,) = pools.image(FACTS, lab(), on(date(2026, 7, 14) + timedelta(days=days)))
    assert (found.outcome, found.said) == (
        outcome,
        f"the image of pool gpu, release 1.35.4-20260714, is {age} old",
    )


@pytest.mark.parametrize("release", ["1.35.4-20261314", "1.35.4-20260714x", "1.35.4"])
def test_a_release_that_names_no_day_is_not_known(release: str) -> None:
    (found,) = pools.image(replace(FACTS, groups=group(release=release)), lab(), NOW)
    assert found == unknown(f"the image of pool gpu, release '{release}', has no date")


def images(*, adopted: bool = True, **more: Any) -> list[Judgement]:
    the_lab = lab(**ADOPTS) if adopted else lab()
    return list(pools.image(replace(FACTS, groups=group(**more)), the_lab, NOW))


def test_an_image_that_aws_ended_or_no_pool_can_have_is_not_ok() -> None:
    (ended,) = images(ami_type="AL2_x86_64_GPU")
    (refused,) = images(ami_type="WINDOWS_CORE_2025_x86_64")

    assert (ended.outcome, refused.outcome) == (NOT_OK, NOT_OK)
    assert "Amazon Linux 2 ended" in str(ended.said)
    assert "before the cluster leaves Kubernetes 1.32" in str(ended.advice)
    assert "no pool can be Windows" in str(refused.said)


def test_what_an_adopted_image_cannot_tell_is_not_known_and_what_a_lab_states_is() -> None:
    custom: dict[str, Any] = {"ami_type": "CUSTOM", "release": "ami-0c0c53d11a3f898ea"}

    (found,) = images(**custom)

    assert found.outcome is LineOutcome.NOT_KNOWN
    assert "has an image of its own, ami-0c0c53d11a3f898ea" in str(found.said)
    assert "--image-ids ami-0c0c53d11a3f898ea" in str(found.advice)
    assert images(adopted=False, **custom) == [
        unknown("the image of pool gpu, release 'ami-0c0c53d11a3f898ea', has no date")
    ]


def test_an_image_that_differs_is_ok_and_says_how() -> None:
    arm, age = images(ami_type="AL2023_ARM_64_NVIDIA", instance_types=("g5g.xlarge",))
    assert (arm.outcome, age.outcome) == (OK, OK)
    assert "are arm64" in str(arm.said)
    assert "is 140 days old" in str(age.said)


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(0, OK), (7 * 86400, OK), (7 * 86400 + 1, NOT_OK), (8 * 86400, NOT_OK)]
)
def test_a_price_of_the_price_list_is_fresh_for_a_week(seconds: int, outcome: LineOutcome) -> None:
    price = Price(Decimal(2), "USD", Source.PRICE_LIST, NOW - timedelta(seconds=seconds))
    assert outcomes(pools.price(replace(FACTS, prices={"gpu": price}), lab(), NOW)) == [outcome]


@pytest.mark.parametrize(("days", "outcome"), [(180, OK), (181, NOT_OK)])
def test_the_table_of_prices_is_old_after_180_days(days: int, outcome: LineOutcome) -> None:
    now = on(prices.read_on()) + timedelta(days=days)
    (found,) = pools.price(BEFORE, lab(), now)
    assert found.outcome is outcome
    advice = f"{STATED}, or take a newer release of Lamplighter"
    assert found.advice == ("" if outcome is OK else advice)


def test_a_price_that_the_lab_states_needs_no_list() -> None:
    stated = lab(pools={"gpu": {"instance_type": "g5.xlarge", "price_per_hour": "1.5"}})

    assert list(pools.price(replace(FACTS, prices=REFUSED), lab(), NOW)) == [unknown(REFUSED)]
    assert outcomes(pools.price(replace(FACTS, prices=REFUSED), stated, NOW)) == [OK]
    strange = lab(pools={"gpu": {"instance_type": "g99.xlarge"}})
    assert list(pools.price(BEFORE, strange, NOW)) == [
        unwell("no price of g99.xlarge in ap-northeast-2 is known: the lab grants no lease on it", STATED)
    ]


def test_a_pool_is_at_zero_or_is_to_be_made_so() -> None:
    def judged(facts: Facts, **more: Any) -> list[Judgement]:
        return list(pools.minimum(facts, lab(**more), NOW))

    gone = "aws eks list-nodegroups --cluster-name {} lists the existing node groups"
    assert judged(FACTS) == [well("node group lab-ng-gpu of pool gpu has minimum 0")]
    assert judged(BEFORE) == [well("the deploy creates node group lab-ng-gpu of pool gpu with minimum 0")]
    assert judged(replace(BEFORE, deployed=True)) == [
        unwell("node group lab-ng-gpu of pool gpu does not exist", gone.format("lab"))
    ]
    assert judged(BEFORE, **ADOPTS) == [
        unwell("node group gpus of pool gpu does not exist", gone.format("theirs"))
    ]
    assert judged(replace(BEFORE, cluster=REFUSED)) == [unknown(REFUSED)]


@pytest.mark.parametrize(("claims", "found"), [
    ({}, well("no lab guards lab-ng-gpu of pool gpu yet")),
    ({"lab-ng-gpu": "lab"}, well("this lab guards lab-ng-gpu of pool gpu")),
    ({"lab-ng-gpu": "rival"}, unwell("lab rival guards lab-ng-gpu of pool gpu: a second lab cannot guard it",
     "take the pool out of lab rival and deploy that lab, or take it out of this lab")),
])  # fmt: skip
def test_a_pool_has_one_guard(claims: dict[str, str], found: Judgement) -> None:
    assert list(pools.claim(replace(FACTS, claims=claims), lab(), NOW)) == [found]


@pytest.mark.parametrize(("held", "outcome"), [(7.0, NOT_OK), (8.0, OK), (8.5, OK)])
def test_a_quota_holds_every_node_to_the_last_vcpu(held: float, outcome: LineOutcome) -> None:
    (found,) = instance_capacity.quota_g_and_vt(replace(FACTS, quotas={"g_and_vt_vcpus": held}), lab(), NOW)
    said = (
        "2 nodes g5.xlarge of pool gpu need 8 vCPUs, and the quota of G and VT instances in"
        f" ap-northeast-2 is {held:g}"
    )
    assert found.outcome is outcome
    assert found.said == said + (
        "; everything else that runs in the account counts too" if outcome is OK else ""
    )


def test_a_quota_is_counted_over_every_pool_of_its_family() -> None:
    both = lab(
        pools={
            "gpu": {"instance_type": "g5.xlarge", "max_nodes": 2},
            "big": {"instance_type": "g5.12xlarge", "max_nodes": 1},
            "huge": {"instance_type": "p5.48xlarge", "max_nodes": 1},
        }
    )
    facts = replace(BEFORE, quotas={"g_and_vt_vcpus": 56.0, "p_vcpus": 192.0})

    (small,) = instance_capacity.quota_g_and_vt(facts, both, NOW)
    (large,) = instance_capacity.quota_p(facts, both, NOW)

    assert small.said.startswith(
        "2 nodes g5.xlarge of pool gpu and 1 node g5.12xlarge of pool big need 56 vCPUs,"
    )
    assert large.said.startswith("1 node p5.48xlarge of pool huge need 192 vCPUs,")
    (short,) = instance_capacity.quota_p(replace(facts, quotas={"p_vcpus": 191.0}), both, NOW)
    assert (small.outcome, large.outcome, short.outcome) == (OK, OK, NOT_OK)
    assert list(instance_capacity.quota_p(facts, lab(), NOW)) == [
        well("no pool of the lab is of P instances")
    ]
    assert list(instance_capacity.quota_p(replace(facts, quotas={}), both, NOW)) == [
        unknown("it was not read")
    ]


def test_what_a_pool_is_made_of_is_read_from_its_group_where_the_lab_leaves_it_open() -> None:
    adopts = lab(cluster={"existing": "lab"}, pools={"gpu": {"existing": "lab-ng-gpu"}})
    nobody = Unread(reason("doctor.type-unknown", pool="gpu"))

    assert (FACTS.instance_type(adopts, "gpu"), FACTS.most_nodes(adopts, "gpu")) == ("g5.xlarge", 2)
    none = replace(FACTS, groups={"gpu": None})
    assert (none.instance_type(adopts, "gpu"), none.most_nodes(adopts, "gpu")) == (
        nobody,
        Unread(reason("doctor.no-group-yet", pool="gpu")),
    )
    assert replace(FACTS, groups=group(instance_types=())).instance_type(adopts, "gpu") == nobody
    two = replace(FACTS, groups=group(instance_types=("g6.xlarge", "g5.xlarge"), maximum=7))
    assert (two.instance_type(adopts, "gpu"), two.most_nodes(adopts, "gpu")) == ("g6.xlarge", 7)
    refused = replace(FACTS, groups={"gpu": REFUSED})
    assert (refused.instance_type(adopts, "gpu"), refused.most_nodes(adopts, "gpu")) == (REFUSED, REFUSED)
    assert list(instance_capacity.quota_g_and_vt(refused, adopts, NOW)) == [unknown(REFUSED)]


@pytest.mark.parametrize(("offered", "zone_index", "found"), [
    ({"a", "c"}, 0, well("g5.xlarge of pool gpu is offered in ap-northeast-2a")),
    ({"c"}, 0, unwell("g5.xlarge of pool gpu is not offered in ap-northeast-2a",
     "write zone_index: 2 for the pool, which is ap-northeast-2c")),
    ({"a"}, 1, unwell("g5.xlarge of pool gpu is not offered in ap-northeast-2b",
     "write zone_index: 0 for the pool, which is ap-northeast-2a")),
    (set(), 1, unwell("g5.xlarge of pool gpu is not offered in ap-northeast-2b",
     "EC2 offers no g5.xlarge in ap-northeast-2 to this account: take another instance type, or" " another region")),
])  # fmt: skip
def test_a_pool_that_is_to_be_made_looks_in_its_own_zone(
    offered: set[str], zone_index: int, found: Judgement
) -> None:
    zones = frozenset(f"ap-northeast-2{zone}" for zone in offered)
    here = lab(pools={"gpu": {"instance_type": "g5.xlarge", "zone_index": zone_index}})
    assert list(instance_capacity.offering(replace(BEFORE, offered={"g5.xlarge": zones}), here, NOW)) == [
        found
    ]


def test_a_pool_that_is_adopted_is_looked_for_in_its_group_s_zones() -> None:
    elsewhere = replace(FACTS, offered={"g5.xlarge": frozenset({"ap-northeast-2c"})})
    (found,) = instance_capacity.offering(elsewhere, lab(**ADOPTS), NOW)
    assert found.advice == "name one of ap-northeast-2c in cluster.zones, or take another instance type"
    (found,) = instance_capacity.offering(
        replace(elsewhere, groups={"gpu": PoolGroup(GROUP, ())}), lab(), NOW
    )
    assert found.said == "g5.xlarge of pool gpu is not offered in any zone of its node group"
    (found,) = instance_capacity.offering(BEFORE, lab(**ADOPTS), NOW)
    assert found == unknown("the zone of pool gpu is not known: node group gpus does not exist")


@pytest.mark.parametrize(("version", "outcome"), [(5, NOT_OK), (6, OK), (7, OK)])
def test_the_bootstrap_is_new_enough_from_version_6(version: int, outcome: LineOutcome) -> None:
    assert outcomes(account.bootstrap(replace(FACTS, bootstrap=version), lab(), NOW)) == [outcome]


def test_of_several_trails_those_that_record_changes_are_named_and_else_one_that_is_off() -> None:
    def judged(*trails: Trail) -> Judgement:
        (found,) = account.trail(replace(FACTS, trails=trails), lab(), NOW)
        return found

    good, better = Trail("one", logging=True, changes=True), Trail("two", logging=True, changes=True)
    off, reads = Trail("off", logging=False, changes=True), Trail("reads", logging=True, changes=False)
    assert judged(off, good, reads, better) == well("trail one and two records changes in ap-northeast-2")
    assert str(judged(reads, off, replace(off, name="also")).said).startswith("trail off is switched off: ")
    assert str(judged(reads, replace(reads, name="more")).said).startswith(
        "trail reads and more records no changes by API calls: "
    )
    (refused,) = account.bootstrap(replace(FACTS, caller=REFUSED, bootstrap=None), lab(), NOW)
    assert refused.advice == "make cdk && .venv/bin/cdk bootstrap aws://ACCOUNT/ap-northeast-2"


def windows(**more: object) -> Lab:
    return lab(windows=[{"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00", **more}])


@pytest.mark.parametrize(("before", "outcome"), [
    (timedelta(days=28, seconds=1), OK), (timedelta(days=28), NOT_OK), (timedelta(seconds=1), NOT_OK),
])  # fmt: skip
def test_the_last_window_is_near_from_28_days_before_it_ends(before: timedelta, outcome: LineOutcome) -> None:
    closes = datetime(2027, 2, 23, 14, 0, tzinfo=UTC)
    (found,) = deployed_lab.last_window(FACTS, windows(until="2027-03-01"), closes - before)
    said = "the last planned window, evening, ends on 2027-02-23"
    assert (found.outcome, found.said) == (
        outcome,
        said if outcome is OK else f"{said}, and nothing is planned after it",
    )


def test_a_lab_without_windows_or_with_some_for_ever_has_no_last_one() -> None:
    refused = replace(FACTS, courses=REFUSED)
    assert list(deployed_lab.last_window(refused, lab(windows=[]), NOW)) == [well("the lab plans no windows")]
    assert list(deployed_lab.last_window(refused, windows(), NOW)) == [well("the lab's windows go on")]
    assert list(deployed_lab.last_window(refused, windows(until="2027-03-01"), NOW)) == [unknown(REFUSED)]


@pytest.mark.parametrize(("slack", "deployed", "found"), [
    (None, False, well("the deploy creates the secret; fill it in after it")),
    (None, True, unknown("the secret of the Slack app was not found: has the lab been deployed with its `slack` key?")),
    (FACTS.slack, True, well("the Slack app's signing_secret and bot_token are filled in")),
])  # fmt: skip
def test_the_secret_of_the_slack_app_is_there_once_its_stack_is(
    slack: Any, found: Judgement, *, deployed: bool
) -> None:
    facts = replace(FACTS, slack=slack, deployed=deployed)
    assert list(deployed_lab.slack(facts, lab(), NOW)) == [found]
    assert list(deployed_lab.slack(facts, lab(slack=None), NOW)) == [well("the lab has no Slack app")]


SPOT = {"g_and_vt_vcpus": 0.0, "p_vcpus": 0.0, "g_and_vt_spot_vcpus": 8.0, "p_spot_vcpus": 0.0}


def test_a_spot_pool_counts_against_the_quotas_of_spot_and_against_no_other() -> None:
    bought = lab(pools={"gpu": {"buy": "spot"}})
    found = said(replace(FACTS, quotas=SPOT), bought)

    assert found["quota-g-vt"].said == "no pool of the lab is of G and VT instances"
    assert (
        "of pool gpu need 8 vCPUs, and the quota of G and VT Spot instances" in found["quota-g-vt-spot"].said
    )
    assert {found[name].outcome for name in ("quota-g-vt-spot", "quota-p-spot", "spot-role")} == {
        LineOutcome.OK
    }
    assert not {"quota-g-vt-spot", "spot-role"} & said(FACTS).keys(), "a lab without Spot is not asked"

    short = said(replace(FACTS, quotas=SPOT | {"g_and_vt_spot_vcpus": 7.0}), bought)["quota-g-vt-spot"]
    assert (short.outcome, "--quota-code L-3819A6DF --desired-value 8" in short.advice) == (
        LineOutcome.NOT_OK,
        True,
    )


@pytest.mark.parametrize(("kind", "code"), [("p4d.24xlarge", "L-7212CCBC"), ("p5.48xlarge", None)])
def test_the_spot_quota_of_older_p_types_is_not_that_of_p5(kind: str, code: str | None) -> None:
    assert quota_code(kind, spot=True) == code


def test_without_the_role_of_spot_no_spot_pool_opens() -> None:
    bought = lab(pools={"gpu": {"buy": "spot"}})

    absent = said(replace(FACTS, quotas=SPOT, spot_role=False), bought)["spot-role"]
    assert (absent.outcome, "spot.amazonaws.com" in absent.advice) == (LineOutcome.NOT_OK, True)
    unread = said(replace(FACTS, quotas=SPOT, spot_role=REFUSED), bought)["spot-role"]
    assert unread.outcome is LineOutcome.NOT_KNOWN
