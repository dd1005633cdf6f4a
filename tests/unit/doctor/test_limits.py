"""The doctor's limits for the cluster, to the day, and its lines where two facts combine."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from lamplighter.adapters.calendars.course import CourseCalendar
from lamplighter.adapters.calendars.text import read
from lamplighter.data import lifecycle
from lamplighter.data.lifecycle import Support
from lamplighter.domain.doctor.facts import ClusterFacts, Facts, PoolGroup
from lamplighter.domain.doctor.line import Judgement, LineOutcome, Unread, unknown, unwell, well
from lamplighter.domain.pool.adoption import Autoscalers
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.doctor.cases import (
    ADOPTS,
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
    on,
)
from tests.unit.doctor.told import account, cluster, deployed_lab

SUPPORT = Support(date(2030, 1, 31), date(2031, 1, 31))
OK, NOT_OK, NOT_KNOWN = LineOutcome.OK, LineOutcome.NOT_OK, LineOutcome.NOT_KNOWN


@pytest.mark.parametrize(("days", "outcome", "said"), [
    (-91, OK, "standard support of Kubernetes 1.34 ends on {}; then the cluster costs {}"),
    (-90, NOT_OK, "standard support of Kubernetes 1.34 ends on {}: then the cluster costs {}"),
    (-1, NOT_OK, "standard support of Kubernetes 1.34 ends on {}: then the cluster costs {}"),
    (0, NOT_OK, "standard support of Kubernetes 1.34 ended on {}: since then the cluster costs {}"),
])  # fmt: skip
def test_the_end_of_standard_support_is_said_90_days_before(
    days: int, outcome: LineOutcome, said: str
) -> None:
    support = lifecycle.kubernetes("1.34")
    assert support is not None
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.34"))

    (found,) = cluster.kubernetes_version(facts, lab(), on(support.standard + timedelta(days=days)))

    price = "0.50 USD an hour more, about 365 USD a month"
    assert (found.outcome, found.said) == (outcome, said.format(support.standard, price))
    advice = "upgrade to Kubernetes 1.35, one version at a time; check that the GPU Operator supports it"
    assert found.advice == ("" if outcome is OK else advice)


@pytest.mark.parametrize(("days", "over"), [(-1, False), (0, True)])
def test_extended_support_ends_when_its_day_begins(days: int, *, over: bool) -> None:
    support = lifecycle.kubernetes("1.34")
    assert support is not None
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.34"))
    bare = lab(gpu_operator={"enabled": False})

    (found,) = cluster.kubernetes_version(facts, bare, on(support.extended + timedelta(days=days)))

    assert (found.said == f"EKS no longer supports Kubernetes 1.34, since {support.extended}") is over
    assert found.advice.endswith("check what your GPU stack supports")


@pytest.mark.parametrize(("held", "said"), [
    (10, ", which other functions of the account share; new accounts have 10"),
    (999, ", which other functions of the account share; new accounts have 10"),
    (1000, ""),
])  # fmt: skip
def test_a_new_accounts_concurrency_is_enough_and_is_said(held: float, said: str) -> None:
    (found,) = account.concurrency(replace(FACTS, concurrency=held), lab(), NOW)
    assert found == well(f"Lambda runs {held} functions at once in this account and ap-northeast-2{said}")


def test_a_version_that_is_not_in_the_table_says_how_to_ask() -> None:
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.99"))
    (found,) = cluster.kubernetes_version(facts, lab(), NOW)
    assert found == unknown(
        f"the table shipped with us, of {lifecycle.known_on()}, does not say until when EKS supports Kubernetes 1.99",
        "aws eks describe-cluster-versions --cluster-versions 1.99",
    )


@pytest.mark.parametrize(("days", "outcome", "said"), [
    (-181, OK, "Lambda supports python3.13, the functions' runtime, until {}"),
    (-180, NOT_OK, "Lambda deprecates python3.13, the functions' runtime, on {}"),
    (0, NOT_OK, "Lambda deprecates python3.13, the functions' runtime, on {}"),
    (1, NOT_OK, "Lambda deprecated python3.13, the functions' runtime, on {}"),
])  # fmt: skip
def test_the_end_of_the_runtime_is_said_180_days_before(days: int, outcome: LineOutcome, said: str) -> None:
    ends = lifecycle.runtime("python3.13")
    assert ends is not None
    (found,) = deployed_lab.runtime(FACTS, lab(), on(ends + timedelta(days=days)))
    assert (found.outcome, found.said) == (outcome, said.format(ends))


@pytest.mark.parametrize(("day", "said"), [
    ("2028-01-05", "the last planned window, once, ends on 2028-01-05"),
    ("2028-01-06", "the last planned window, once, ends on 2028-01-06"),
    ("2034-07-01", "the last planned window, once, ends on 2034-07-01"),
    ("9998-12-30", "the lab's windows go on for years"),
    ("2026-11-01", "the last planned window has ended"),
])  # fmt: skip
def test_the_last_window_is_found_however_far_ahead_it_lies(day: str, said: str) -> None:
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    once = {"name": "once", "days": days, "start": "20:00", "end": "23:00", "from": day, "until": day}
    (found,) = deployed_lab.last_window(FACTS, lab(windows=[once]), NOW)
    assert found.said == said


@pytest.mark.parametrize(("event", "said"), [
    ("DTSTART:20280601T100000Z|DURATION:PT1H", "the last planned window, course, ends on 2028-06-01"),
    ("DTSTART:20280601T100000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY", "the lab's windows go on for years"),
    ("DTSTART:20260601T100000Z|DURATION:PT1H", "the last planned window has ended"),
])  # fmt: skip
def test_the_last_event_of_a_course_is_found_however_far_ahead_it_lies(event: str, said: str) -> None:
    course = CourseCalendar(read(calendar(event)).text)
    follows = lab(windows=[{"name": "course", "calendar": "https://example.com/course.ics"}])
    (found,) = deployed_lab.last_window(replace(FACTS, courses={"course": course}), follows, NOW)
    assert found.said == said


@pytest.mark.parametrize(("facts", "more", "found"), [
    (FACTS, {}, well("cluster lab exists, Kubernetes 1.35")),
    (replace(FACTS, cluster=replace(CLUSTER, status="UPDATING")), {}, well("cluster lab exists, Kubernetes 1.35")),
    (replace(FACTS, cluster=replace(CLUSTER, status="CREATING")), {}, unwell("cluster lab is CREATING",
     "look at its health in the EKS console")),
    (BEFORE, {}, well("the deploy creates cluster lab")),
    (replace(BEFORE, deployed=True), {}, unwell("there is no cluster lab in ap-northeast-2",
     "aws eks list-clusters --region ap-northeast-2 lists the existing clusters; check region and account")),
    (BEFORE, ADOPTS, unwell("there is no cluster theirs in ap-northeast-2",
     "aws eks list-clusters --region ap-northeast-2 lists the existing clusters; check region and account")),
    (replace(FACTS, cluster=REFUSED), {}, unknown(REFUSED)),
])  # fmt: skip
def test_a_cluster_is_there_or_is_to_be_made(facts: Facts, more: dict[str, Any], found: Judgement) -> None:
    assert list(cluster.cluster(facts, lab(**more), NOW)) == [found]


@pytest.mark.parametrize("judge", [cluster.authentication, cluster.endpoint, cluster.autoscalers])
def test_where_there_is_no_cluster_nothing_is_said_of_it_unless_there_should_be_one(judge: Any) -> None:
    made = well("the deploy creates cluster lab with the right settings")

    assert list(judge(BEFORE, lab(), NOW)) == [made]
    missing = unknown("there is no cluster lab in ap-northeast-2")
    assert list(judge(replace(BEFORE, deployed=True), lab(), NOW)) == [missing]
    assert list(judge(BEFORE, lab(**ADOPTS), NOW)) == [
        unknown("there is no cluster theirs in ap-northeast-2")
    ]


def test_an_endpoint_answers_unless_it_was_asked_and_did_not() -> None:
    answers = well("the Kubernetes API of cluster lab answers, and functions can reach it")

    assert list(cluster.endpoint(FACTS, lab(), NOW)) == [answers]
    assert list(cluster.endpoint(replace(FACTS, inside=None), lab(), NOW)) == [answers]
    assert list(cluster.endpoint(replace(FACTS, inside=REFUSED), lab(), NOW)) == [unknown(REFUSED)]
    (silent,) = cluster.endpoint(replace(FACTS, inside=ClusterFacts(SILENT)), lab(), NOW)
    assert silent == unwell(
        "the Kubernetes API of cluster lab does not answer: no answer",
        "check the network between here and the API, and the cluster's health in the EKS console",
    )


def test_autoscalers_are_judged_by_the_groups_that_they_could_open() -> None:
    def judged(**changes: Any) -> list[Judgement]:
        return list(cluster.autoscalers(replace(FACTS, **changes), lab(), NOW))

    both = replace(AUTOSCALER, nodepools=KARPENTER.nodepools)
    unread = {"gpu": REFUSED}
    assert judged() == [well("no autoscaler of cluster lab changes the pools")]
    assert judged(inside=None) == [unknown("cluster lab was not asked")]
    assert judged(inside=REFUSED) == [unknown(REFUSED)]
    assert judged(inside=ClusterFacts(Autoscalers(asked=False, why_not="403"))) == [
        unknown("403", "kubectl get deployments -A | grep -e autoscaler -e karpenter")
    ]
    assert judged(inside=ClusterFacts(both), groups=unread) == [unknown(REFUSED)]
    assert judged(inside=ClusterFacts(both), groups={**unread, "big": Unread("403")}) == [unknown(REFUSED)]
    assert judged(groups=unread) == [well("no autoscaler of cluster lab changes the pools")]
    assert [one.outcome for one in judged(inside=ClusterFacts(both))] == [NOT_OK, NOT_OK]
    assert [one.outcome for one in judged(inside=ClusterFacts(AUTOSCALER), groups=group(group_tags={}))] == [
        OK
    ]
    two = {name: PoolGroup(GROUP, ()) for name in ("gpu", "big")}
    assert len(judged(inside=ClusterFacts(KARPENTER), groups=two)) == 1


@pytest.mark.parametrize(("inside", "more", "found"), [
    (ClusterFacts(Autoscalers(asked=True), "v26.3.1"), {}, "GPU Operator v26.3.1 supports Kubernetes"),
    (ClusterFacts(Autoscalers(asked=False), "v26.3.1"), {}, "GPU Operator v26.3.1 supports Kubernetes"),
    (ClusterFacts(Autoscalers(asked=True)), {"gpu_operator": {"enabled": False}}, "the lab has no GPU Operator"),
    (ClusterFacts(Autoscalers(asked=True)), {}, "no GPU Operator runs in cluster lab"),
    (None, {"gpu_operator": {"enabled": False}}, "the lab has no GPU Operator"),
    (ClusterFacts(Autoscalers(asked=False)), {"gpu_operator": {"enabled": False}}, "the lab has no GPU Operator"),
    (ClusterFacts(Autoscalers(asked=True), "v99.1.0"), {},
     "the table shipped with us does not say which Kubernetes GPU Operator v99.1.0"),
    (None, ADOPTS, "cluster was not asked"),
    (Unread("403"), ADOPTS, "403"),
    (ClusterFacts(Autoscalers(asked=False, why_not="no answer")), ADOPTS, "no answer"),
])  # fmt: skip
def test_the_operator_that_runs_counts_before_the_one_that_the_lab_names(
    inside: ClusterFacts | Unread | None, more: dict[str, Any], found: str
) -> None:
    (line,) = cluster.operator(replace(FACTS, inside=inside), lab(**more), NOW)
    assert line.said.startswith(found)


def test_an_adopted_pool_whose_image_has_a_plugin_needs_no_operator() -> None:
    facts = replace(FACTS, inside=ClusterFacts(Autoscalers(asked=True), None))

    def judged(ami_type: str) -> Judgement:
        pool = {**ADOPTS["pools"]["gpu"], "ami_type": ami_type}
        (line,) = cluster.operator(facts, lab(**{**ADOPTS, "pools": {"gpu": pool}}), NOW)
        return line

    assert judged("BOTTLEROCKET_x86_64_NVIDIA") == well("the lab has no GPU Operator")
    assert (
        judged("AL2023_x86_64_NVIDIA").said
        == "no GPU Operator runs in cluster theirs, and the lab needs one for its GPUs"
    )


def test_an_operator_that_is_to_be_installed_is_the_lab_s() -> None:
    wanted = lab().gpu_operator.version
    (line,) = cluster.operator(BEFORE, lab(), NOW)
    assert (line.outcome, line.said.startswith(f"GPU Operator {wanted} supports Kubernetes")) == (OK, True)
    missing = unknown("there is no cluster theirs in ap-northeast-2")
    assert list(cluster.operator(BEFORE, lab(**ADOPTS), NOW)) == [missing]


@pytest.mark.parametrize(("facts", "more", "then"), [
    (BEFORE, {}, "EKS upgrades the cluster by itself"),
    (replace(FACTS, cluster=replace(CLUSTER, version="1.33", support="STANDARD")), {},
     "EKS upgrades the cluster by itself"),
    (replace(FACTS, cluster=replace(CLUSTER, version="1.33")), {},
     "the cluster costs 0.50 USD an hour more, about 365 USD a month"),
])  # fmt: skip
def test_past_standard_support_a_cluster_of_the_lab_is_upgraded_by_eks(
    facts: Facts, more: dict[str, Any], then: str
) -> None:
    past = lab(cluster={"kubernetes_version": "1.33"}, **more)
    (found,) = cluster.kubernetes_version(facts, past, NOW)
    assert (found.outcome, found.said) == (
        NOT_OK,
        f"standard support of Kubernetes 1.33 ended on 2026-07-29: since then {then}",
    )


@pytest.mark.parametrize(("known", "more", "newest"), [
    (Unread("403"), {}, "1.35"),
    (Unread("403"), {"gpu_operator": {"enabled": False}}, "1.36"),
    ({"1.99": SUPPORT, "1.100": SUPPORT}, {"gpu_operator": {"enabled": False}}, "1.100"),
])  # fmt: skip
def test_a_new_cluster_gets_the_newest_version_that_aws_and_the_operator_have(
    known: Any, more: dict[str, Any], newest: str
) -> None:
    past = lab(cluster={"kubernetes_version": "1.33"}, **more)
    (found,) = cluster.kubernetes_version(replace(BEFORE, kubernetes=known), past, NOW)
    assert found.advice == f'write kubernetes_version: "{newest}" under cluster'


def test_what_aws_says_of_a_version_comes_before_the_table() -> None:
    facts = replace(FACTS, cluster=replace(CLUSTER, version="1.99"), kubernetes={"1.99": SUPPORT})
    (found,) = cluster.kubernetes_version(facts, lab(), NOW)
    assert found == well(
        "standard support of Kubernetes 1.99 ends on 2030-01-31; then the cluster costs 0.50 USD an hour more,"
        " about 365 USD a month"
    )
