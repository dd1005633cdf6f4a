"""The doctor's limits, day by day and vCPU by vCPU, and its lines in full where two facts meet."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.data import lifecycle, prices
from lamplighter.domain.adoption import Autoscalers, FoundCluster
from lamplighter.domain.doctor import account, capacity, cluster, house, pools
from lamplighter.domain.doctor.facts import Facts, Group, Inside, Trail
from lamplighter.domain.doctor.line import Judgement, Outcome, Unread, unknown, unwell, well
from lamplighter.domain.price import Price, Source
from lamplighter.lab import Lab
from tests.unit.doctor_cases import (
    AUTOSCALER,
    BEFORE,
    CLUSTER,
    FACTS,
    GROUP,
    KARPENTER,
    NOW,
    REFUSED,
    SILENT,
    group,
    lab,
)

OK, NOT_OK, NOT_KNOWN = Outcome.OK, Outcome.NOT_OK, Outcome.NOT_KNOWN
STATED = "state it in the lab: pools.gpu.price_per_hour, in USD"
ADOPTS: dict[str, Any] = {
    "cluster": {"existing": "theirs"},
    "pools": {"gpu": {"existing": "gpus", "instance_type": "g5.xlarge"}},
}


def on(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)


def outcomes(found: Iterator[Judgement]) -> list[Outcome]:
    return [one.outcome for one in found]


@pytest.mark.parametrize(
    ("days", "outcome", "said"),
    [
        (-91, OK, "standard support of Kubernetes 1.34 ends on {}; then the cluster costs {}"),
        (-90, NOT_OK, "standard support of Kubernetes 1.34 ends on {}: then the cluster costs {}"),
        (0, NOT_OK, "standard support of Kubernetes 1.34 ends on {}: then the cluster costs {}"),
        (1, NOT_OK, "standard support of Kubernetes 1.34 ended on {}: since then the cluster costs {}"),
    ],
)
def test_the_end_of_standard_support_is_said_90_days_before(days: int, outcome: Outcome, said: str) -> None:
    support = lifecycle.kubernetes("1.34")
    assert support is not None
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.34"))

    (found,) = cluster.kubernetes_version(facts, lab(), on(support.standard + timedelta(days=days)))

    price = "0.50 USD an hour more, about 365 USD a month"
    assert (found.outcome, found.said) == (outcome, said.format(support.standard, price))
    advice = "upgrade to Kubernetes 1.35, one version at a time; see that the GPU Operator supports it"
    assert found.advice == ("" if outcome is OK else advice)


@pytest.mark.parametrize(("days", "over"), [(0, False), (1, True)])
def test_the_last_day_of_extended_support_is_supported(days: int, *, over: bool) -> None:
    support = lifecycle.kubernetes("1.34")
    assert support is not None
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.34"))
    bare = lab(gpu_operator={"enabled": False})

    (found,) = cluster.kubernetes_version(facts, bare, on(support.extended + timedelta(days=days)))

    assert (found.said == f"EKS no longer supports Kubernetes 1.34, since {support.extended}") is over
    assert found.advice.endswith("see what your GPU stack supports")


def test_a_version_that_is_not_in_the_table_says_how_to_ask() -> None:
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.99"))
    (found,) = cluster.kubernetes_version(facts, lab(), NOW)
    assert found == unknown(
        f"until when EKS supports Kubernetes 1.99 is not in the table shipped with us, of {lifecycle.known_on()}",
        "aws eks describe-cluster-versions --cluster-versions 1.99",
    )


@pytest.mark.parametrize(
    ("days", "outcome", "said"),
    [
        (-181, OK, "Lambda supports python3.13, the functions' runtime, until {}"),
        (-180, NOT_OK, "Lambda deprecates python3.13, the functions' runtime, on {}"),
        (0, NOT_OK, "Lambda deprecates python3.13, the functions' runtime, on {}"),
        (1, NOT_OK, "Lambda deprecated python3.13, the functions' runtime, on {}"),
    ],
)
def test_the_end_of_the_runtime_is_said_180_days_before(days: int, outcome: Outcome, said: str) -> None:
    ends = lifecycle.runtime("python3.13")
    assert ends is not None
    (found,) = house.runtime(FACTS, lab(), on(ends + timedelta(days=days)))
    assert (found.outcome, found.said) == (outcome, said.format(ends))


@pytest.mark.parametrize(
    ("facts", "more", "found"),
    [
        (FACTS, {}, well("cluster lab is there, Kubernetes 1.35")),
        (
            replace(FACTS, cluster=replace(CLUSTER, status="UPDATING")),
            {},
            well("cluster lab is there, Kubernetes 1.35"),
        ),
        (
            replace(FACTS, cluster=replace(CLUSTER, status="CREATING")),
            {},
            unwell("cluster lab is CREATING", "see its health in the EKS console"),
        ),
        (BEFORE, {}, well("cluster lab is made by the deploy")),
        (
            replace(BEFORE, deployed=True),
            {},
            unwell(
                "there is no cluster lab in ap-northeast-2",
                "aws eks list-clusters --region ap-northeast-2 names those that are; see region and account",
            ),
        ),
        (
            BEFORE,
            ADOPTS,
            unwell(
                "there is no cluster theirs in ap-northeast-2",
                "aws eks list-clusters --region ap-northeast-2 names those that are; see region and account",
            ),
        ),
        (replace(FACTS, cluster=REFUSED), {}, unknown(REFUSED)),
    ],
)
def test_a_cluster_is_there_or_is_to_be_made(facts: Facts, more: dict[str, Any], found: Judgement) -> None:
    assert list(cluster.cluster(facts, lab(**more), NOW)) == [found]


@pytest.mark.parametrize("judge", [cluster.authentication, cluster.endpoint, cluster.autoscalers])
def test_where_there_is_no_cluster_nothing_is_said_of_it_unless_there_should_be_one(judge: Any) -> None:
    made = well("cluster lab is made by the deploy, as it should be")

    assert list(judge(BEFORE, lab(), NOW)) == [made]
    missing = unknown("there is no cluster lab in ap-northeast-2")
    assert list(judge(replace(BEFORE, deployed=True), lab(), NOW)) == [missing]
    assert list(judge(BEFORE, lab(**ADOPTS), NOW)) == [
        unknown("there is no cluster theirs in ap-northeast-2")
    ]


def test_an_endpoint_answers_unless_it_was_asked_and_did_not() -> None:
    answers = well("the Kubernetes API of cluster lab answers, and lets in functions by IAM")

    assert list(cluster.endpoint(FACTS, lab(), NOW)) == [answers]
    assert list(cluster.endpoint(replace(FACTS, inside=None), lab(), NOW)) == [answers]
    assert list(cluster.endpoint(replace(FACTS, inside=REFUSED), lab(), NOW)) == [unknown(REFUSED)]
    (silent,) = cluster.endpoint(replace(FACTS, inside=Inside(SILENT)), lab(), NOW)
    assert silent == unwell(
        "the Kubernetes API of cluster lab does not answer: no answer",
        "see that nothing between here and it is in the way, and the cluster's health in the EKS console",
    )


def test_autoscalers_are_judged_by_the_groups_that_they_could_open() -> None:
    def judged(**changes: Any) -> list[Judgement]:
        return list(cluster.autoscalers(replace(FACTS, **changes), lab(), NOW))

    both = replace(AUTOSCALER, nodepools=KARPENTER.nodepools)
    unread = {"gpu": REFUSED}
    assert judged() == [well("no autoscaler of cluster lab can fight over the pools")]
    assert judged(inside=None) == [unknown("cluster lab was not asked")]
    assert judged(inside=REFUSED) == [unknown(REFUSED)]
    assert judged(inside=Inside(Autoscalers(asked=False, why_not="403"))) == [
        unknown("403", "kubectl get deployments -A | grep -e autoscaler -e karpenter")
    ]
    assert judged(inside=Inside(both), groups=unread) == [unknown(REFUSED)]
    assert judged(groups=unread) == [well("no autoscaler of cluster lab can fight over the pools")]
    assert [one.outcome for one in judged(inside=Inside(both))] == [NOT_OK, NOT_OK]
    assert [one.outcome for one in judged(inside=Inside(AUTOSCALER), groups=group(group_tags={}))] == [OK]
    two = {name: Group(GROUP, ()) for name in ("gpu", "big")}
    assert len(judged(inside=Inside(KARPENTER), groups=two)) == 1


@pytest.mark.parametrize(
    ("inside", "more", "found"),
    [
        (
            Inside(Autoscalers(asked=True), "v26.3.1"),
            {},
            "GPU Operator v26.3.1 supports Kubernetes",
        ),
        (Inside(Autoscalers(asked=False), "v26.3.1"), {}, "GPU Operator v26.3.1 supports Kubernetes"),
        (
            Inside(Autoscalers(asked=True)),
            {"gpu_operator": {"enabled": False}},
            "the lab has no GPU Operator",
        ),
        (Inside(Autoscalers(asked=True)), {}, "no GPU Operator runs in cluster lab"),
        (None, {"gpu_operator": {"enabled": False}}, "the lab has no GPU Operator"),
        (
            Inside(Autoscalers(asked=False)),
            {"gpu_operator": {"enabled": False}},
            "the lab has no GPU Operator",
        ),
        (
            Inside(Autoscalers(asked=True), "v99.1.0"),
            {},
            "which Kubernetes GPU Operator v99.1.0 supports is not",
        ),
        (None, ADOPTS, "cluster was not asked"),
        (Unread("403"), ADOPTS, "403"),
        (Inside(Autoscalers(asked=False, why_not="no answer")), ADOPTS, "no answer"),
    ],
)
def test_the_operator_that_runs_counts_before_the_one_that_the_lab_names(
    inside: Inside | Unread | None, more: dict[str, Any], found: str
) -> None:
    (line,) = cluster.operator(replace(FACTS, inside=inside), lab(**more), NOW)
    assert line.said.startswith(found)


def test_an_operator_that_is_to_be_installed_is_the_lab_s() -> None:
    wanted = lab().gpu_operator.version
    (line,) = cluster.operator(BEFORE, lab(), NOW)
    assert (line.outcome, line.said.startswith(f"GPU Operator {wanted} supports Kubernetes")) == (OK, True)
    missing = unknown("there is no cluster theirs in ap-northeast-2")
    assert list(cluster.operator(BEFORE, lab(**ADOPTS), NOW)) == [missing]


@pytest.mark.parametrize(
    ("days", "outcome", "age"), [(1, OK, "1 day"), (180, OK, "180 days"), (181, NOT_OK, "181 days")]
)
def test_an_image_is_old_after_180_days(days: int, outcome: Outcome, age: str) -> None:
    (found,) = pools.image(FACTS, lab(), on(date(2026, 7, 14) + timedelta(days=days)))
    assert (found.outcome, found.said) == (
        outcome,
        f"the image of pool gpu, release 1.35.4-20260714, is {age} old",
    )


@pytest.mark.parametrize("release", ["1.35.4-20261314", "1.35.4-20260714x", "1.35.4"])
def test_a_release_that_names_no_day_is_not_known(release: str) -> None:
    (found,) = pools.image(replace(FACTS, groups=group(release=release)), lab(), NOW)
    assert found == unknown(f"the image of pool gpu, release '{release}', names no day")


@pytest.mark.parametrize(
    ("seconds", "outcome"), [(0, OK), (7 * 86400, OK), (7 * 86400 + 1, NOT_OK), (8 * 86400, NOT_OK)]
)
def test_a_price_of_the_price_list_is_fresh_for_a_week(seconds: int, outcome: Outcome) -> None:
    price = Price(Decimal(2), "USD", Source.PRICE_LIST, NOW - timedelta(seconds=seconds))
    assert outcomes(pools.price(replace(FACTS, prices={"gpu": price}), lab(), NOW)) == [outcome]


@pytest.mark.parametrize(("days", "outcome"), [(180, OK), (181, NOT_OK)])
def test_the_table_of_prices_is_old_after_180_days(days: int, outcome: Outcome) -> None:
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
        unwell(
            "no price of g99.xlarge in ap-northeast-2 is known: no lease is granted on it",
            STATED,
        )
    ]


def test_a_pool_is_at_zero_or_is_to_be_made_so() -> None:
    def judged(facts: Facts, **more: Any) -> list[Judgement]:
        return list(pools.minimum(facts, lab(**more), NOW))

    gone = "aws eks list-nodegroups --cluster-name {} names those that are"
    assert judged(FACTS) == [well("node group lab-ng-gpu of pool gpu has minimum 0")]
    assert judged(BEFORE) == [well("node group lab-ng-gpu of pool gpu is made by the deploy, with minimum 0")]
    assert judged(replace(BEFORE, deployed=True)) == [
        unwell("node group lab-ng-gpu of pool gpu is not there", gone.format("lab"))
    ]
    assert judged(BEFORE, **ADOPTS) == [
        unwell("node group gpus of pool gpu is not there", gone.format("theirs"))
    ]
    assert judged(replace(BEFORE, cluster=REFUSED)) == [unknown(REFUSED)]


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        ({}, well("node group lab-ng-gpu of pool gpu is guarded by no lab yet")),
        ({"lab-ng-gpu": "lab"}, well("node group lab-ng-gpu of pool gpu is guarded by this lab")),
        (
            {"lab-ng-gpu": "rival"},
            unwell(
                "node group lab-ng-gpu of pool gpu is guarded by lab rival: a second claim on it fails",
                "take the pool out of lab rival and deploy that, or out of this one",
            ),
        ),
    ],
)
def test_a_pool_has_one_guard(claims: dict[str, str], found: Judgement) -> None:
    assert list(pools.claim(replace(FACTS, claims=claims), lab(), NOW)) == [found]


@pytest.mark.parametrize(("held", "outcome"), [(7.0, NOT_OK), (8.0, OK), (8.5, OK)])
def test_a_quota_holds_every_node_to_the_last_vcpu(held: float, outcome: Outcome) -> None:
    (found,) = capacity.quota_g_and_vt(replace(FACTS, quotas={"g_and_vt_vcpus": held}), lab(), NOW)
    said = (
        "2 nodes g5.xlarge of pool gpu need 8 vCPUs, and the quota of G and VT instances in"
        f" ap-northeast-2 is {held:g}"
    )
    assert found.outcome is outcome
    assert found.said == said + ("; what else runs in the account counts too" if outcome is OK else "")


def test_a_quota_is_counted_over_every_pool_of_its_family() -> None:
    both = lab(
        pools={
            "gpu": {"instance_type": "g5.xlarge", "max_nodes": 2},
            "big": {"instance_type": "g5.12xlarge", "max_nodes": 1},
            "huge": {"instance_type": "p5.48xlarge", "max_nodes": 1},
        }
    )
    facts = replace(BEFORE, quotas={"g_and_vt_vcpus": 56.0, "p_vcpus": 192.0})

    (small,) = capacity.quota_g_and_vt(facts, both, NOW)
    (large,) = capacity.quota_p(facts, both, NOW)

    assert small.said.startswith(
        "2 nodes g5.xlarge of pool gpu and 1 node g5.12xlarge of pool big need 56 vCPUs,"
    )
    assert large.said.startswith("1 node p5.48xlarge of pool huge need 192 vCPUs,")
    assert (small.outcome, large.outcome) == (OK, OK)
    assert list(capacity.quota_p(facts, lab(), NOW)) == [well("no pool of the lab is of P instances")]
    assert list(capacity.quota_p(replace(facts, quotas={}), both, NOW)) == [unknown("it was not asked for")]


def test_what_a_pool_is_made_of_is_read_from_its_group_where_the_lab_leaves_it_open() -> None:
    adopts = lab(cluster={"existing": "lab"}, pools={"gpu": {"existing": "lab-ng-gpu"}})
    nobody = Unread("what pool gpu is made of nobody says: its node group names no instance type")

    assert (FACTS.instance_type(adopts, "gpu"), FACTS.most_nodes(adopts, "gpu")) == ("g5.xlarge", 2)
    none = replace(FACTS, groups={"gpu": None})
    assert (none.instance_type(adopts, "gpu"), none.most_nodes(adopts, "gpu")) == (
        nobody,
        Unread("pool gpu has no node group yet"),
    )
    assert replace(FACTS, groups=group(instance_types=())).instance_type(adopts, "gpu") == nobody
    two = replace(FACTS, groups=group(instance_types=("g6.xlarge", "g5.xlarge"), maximum=7))
    assert (two.instance_type(adopts, "gpu"), two.most_nodes(adopts, "gpu")) == ("g6.xlarge", 7)
    refused = replace(FACTS, groups={"gpu": REFUSED})
    assert (refused.instance_type(adopts, "gpu"), refused.most_nodes(adopts, "gpu")) == (REFUSED, REFUSED)
    assert list(capacity.quota_g_and_vt(refused, adopts, NOW)) == [unknown(REFUSED)]


@pytest.mark.parametrize(
    ("offered", "zone_index", "found"),
    [
        ({"a", "c"}, 0, well("g5.xlarge of pool gpu is offered in ap-northeast-2a")),
        (
            {"c"},
            0,
            unwell(
                "g5.xlarge of pool gpu is not offered in ap-northeast-2a",
                "write zone_index: 2 for the pool, which is ap-northeast-2c",
            ),
        ),
        (
            {"a"},
            1,
            unwell(
                "g5.xlarge of pool gpu is not offered in ap-northeast-2b",
                "write zone_index: 0 for the pool, which is ap-northeast-2a",
            ),
        ),
        (
            set(),
            1,
            unwell(
                "g5.xlarge of pool gpu is not offered in ap-northeast-2b",
                "EC2 offers no g5.xlarge in ap-northeast-2 to this account: take another instance type, or"
                " another region",
            ),
        ),
    ],
)
def test_a_pool_that_is_to_be_made_looks_in_its_own_zone(
    offered: set[str], zone_index: int, found: Judgement
) -> None:
    zones = frozenset(f"ap-northeast-2{zone}" for zone in offered)
    here = lab(pools={"gpu": {"instance_type": "g5.xlarge", "zone_index": zone_index}})
    assert list(capacity.offering(replace(BEFORE, offered={"g5.xlarge": zones}), here, NOW)) == [found]


def test_a_pool_that_is_adopted_is_looked_for_in_its_group_s_zones() -> None:
    elsewhere = replace(FACTS, offered={"g5.xlarge": frozenset({"ap-northeast-2c"})})
    (found,) = capacity.offering(elsewhere, lab(**ADOPTS), NOW)
    assert found.advice == "name one of ap-northeast-2c in cluster.zones, or take another instance type"
    (found,) = capacity.offering(replace(elsewhere, groups={"gpu": Group(GROUP, ())}), lab(), NOW)
    assert found.said == "g5.xlarge of pool gpu is not offered in any zone of its node group"
    (found,) = capacity.offering(BEFORE, lab(**ADOPTS), NOW)
    assert found == unknown("in which zone pool gpu is nobody says: node group gpus is not there")


@pytest.mark.parametrize(("version", "outcome"), [(5, NOT_OK), (6, OK), (7, OK)])
def test_the_bootstrap_is_new_enough_from_version_6(version: int, outcome: Outcome) -> None:
    assert outcomes(account.bootstrap(replace(FACTS, bootstrap=version), lab(), NOW)) == [outcome]


def test_of_several_trails_those_that_record_changes_are_named_and_else_one_that_is_off() -> None:
    def judged(*trails: Trail) -> Judgement:
        (found,) = account.trail(replace(FACTS, trails=trails), lab(), NOW)
        return found

    good, better = Trail("one", logging=True, changes=True), Trail("two", logging=True, changes=True)
    off, reads = Trail("off", logging=False, changes=True), Trail("reads", logging=True, changes=False)
    assert judged(off, good, reads, better) == well("trail one, two records changes in ap-northeast-2")
    assert judged(reads, off).said.startswith("trail off is switched off: ")
    assert judged(reads, replace(reads, name="more")).said.startswith(
        "trail reads, more records no changes by API calls: "
    )
    (refused,) = account.bootstrap(replace(FACTS, caller=REFUSED, bootstrap=None), lab(), NOW)
    assert refused.advice == "make cdk && .venv/bin/cdk bootstrap aws://ACCOUNT/ap-northeast-2"


def windows(**more: object) -> Lab:
    return lab(windows=[{"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00", **more}])


@pytest.mark.parametrize(
    ("before", "outcome"),
    [
        (timedelta(days=28, seconds=1), OK),
        (timedelta(days=28), NOT_OK),
        (timedelta(seconds=1), NOT_OK),
    ],
)
def test_the_last_window_is_near_from_28_days_before_it_ends(before: timedelta, outcome: Outcome) -> None:
    closes = datetime(2027, 2, 23, 14, 0, tzinfo=UTC)
    (found,) = house.last_window(FACTS, windows(until="2027-03-01"), closes - before)
    said = "the last planned window, evening, ends on 2027-02-23"
    assert (found.outcome, found.said) == (
        outcome,
        said if outcome is OK else f"{said}, and nothing is planned after it",
    )


def test_a_lab_without_windows_or_with_some_for_ever_has_no_last_one() -> None:
    refused = replace(FACTS, courses=REFUSED)

    assert list(house.last_window(refused, lab(windows=[]), NOW)) == [well("the lab plans no windows")]
    assert list(house.last_window(refused, windows(), NOW)) == [well("the lab's windows go on")]
    assert list(house.last_window(refused, windows(until="2027-03-01"), NOW)) == [unknown(REFUSED)]


@pytest.mark.parametrize(
    ("slack", "deployed", "found"),
    [
        (None, False, well("the Slack stack makes the secret; it is filled in after the deploy")),
        (
            None,
            True,
            unknown("no secret of the Slack app was found: has the Slack stack been deployed?"),
        ),
        (FACTS.slack, True, well("the Slack app's signing_secret and bot_token are filled in")),
    ],
)
def test_the_secret_of_the_slack_app_is_there_once_its_stack_is(
    slack: Any, found: Judgement, *, deployed: bool
) -> None:
    facts = replace(FACTS, slack=slack, deployed=deployed)
    assert list(house.slack(facts, lab(), NOW)) == [found]
    assert list(house.slack(facts, lab(slack=None), NOW)) == [well("the lab has no Slack app")]


def test_a_cluster_that_upgrades_itself_costs_no_more() -> None:
    standard: FoundCluster = replace(CLUSTER, version="1.34", support="STANDARD")
    (found,) = cluster.kubernetes_version(replace(FACTS, cluster=standard), lab(), NOW)
    assert found.said.endswith(": then EKS upgrades the cluster by itself")
