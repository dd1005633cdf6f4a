"""What is found for a window before it opens: each fact that keeps it from opening, and what is not known."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.doctor.facts import ClusterFacts, Facts, PoolGroup, SlackSecret
from lamplighter.domain.doctor.readiness import Grade, Readiness
from lamplighter.domain.doctor.window import ADDRESSES, JOINING, Plan, WindowFacts, judge
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.reasons.reason import reason
from lamplighter.values.role_name import role_name
from tests.builders.leases import lease as any_lease
from tests.unit.doctor.cases import CLUSTER, FACTS, GROUP, NOW, REFUSED, WINDOWS, lab

HOUR = timedelta(hours=1)
NODE_ROLE = "arn:aws:iam::123456789012:role/nodes"
ROLES = [f"arn:aws:iam::123456789012:role/{role_name('lab', 'ap-northeast-2', one)}" for one in JOINING]
WINDOW = WindowFacts(used={}, entries=frozenset([*ROLES, NODE_ROLE]))
LEASE = replace(
    any_lease("evening-2026-12-01", state=LeaseState.PLANNED, window="evening", date="2026-12-01"),
    opens=NOW + 2 * HOUR,
    closes=NOW + 5 * HOUR,
)
#: Two nodes g5.xlarge have these vCPUs.
VCPUS = 8


def group(addresses: int | None = LEASE.nodes * ADDRESSES, **more: Any) -> dict[str, PoolGroup]:
    return {"gpu": PoolGroup(replace(GROUP, role=NODE_ROLE, **more), ("ap-northeast-2a",), addresses)}


WELL = replace(FACTS, groups=group())


def judged(
    facts: Facts = WELL,
    window: WindowFacts = WINDOW,
    lease: Lease = LEASE,
    others: tuple[Lease, ...] = (),
    pauses: tuple[Pause, ...] = (),
    **more: object,
) -> Readiness:
    return judge(lease, lab(**more), facts, window, Plan((LEASE, *others), pauses), now=NOW)


def found(readiness: Readiness) -> list[tuple[str, Grade]]:
    return [(one.check, one.grade) for one in readiness.findings]


def beside(name: str, opens: float, closes: float, **more: Any) -> Lease:
    planned = any_lease(name, **{"state": LeaseState.PLANNED, **more})
    return replace(planned, opens=NOW + opens * HOUR, closes=NOW + closes * HOUR)


def test_a_window_that_nothing_keeps_from_opening_is_ready() -> None:
    readiness = judged()
    assert (readiness.findings, readiness.unread, readiness.grade) == ((), (), Grade.READY)
    assert (readiness.at, readiness.opens, readiness.lease) == (NOW, LEASE.opens, LEASE.id)


@pytest.mark.parametrize(("facts", "check", "grade", "said"), [
    (replace(WELL, cluster=replace(CLUSTER, status="FAILED")), "cluster", Grade.NOT_READY, "cluster lab is FAILED"),
    (replace(WELL, cluster=replace(CLUSTER, public_endpoint=False)), "endpoint", Grade.NOT_READY, "is private"),
    (replace(WELL, claims={"lab-ng-gpu": "rival"}), "claim", Grade.NOT_READY, "lab rival guards"),
    (replace(WELL, groups=group(minimum=1)), "minimum", Grade.IN_DOUBT, "has minimum 1"),
    (replace(WELL, slack=SlackSecret("lab-slack", ("bot_token",))), "slack", Grade.IN_DOUBT, "bot_token"),
    (replace(WELL, groups=group(addresses=LEASE.nodes * ADDRESSES - 1)), "addresses", Grade.IN_DOUBT,
     "in the subnets of node group lab-ng-gpu for the nodes of the lease and their pods: 21 for 2"),
    (replace(WELL, groups=group(addresses=LEASE.nodes)), "addresses", Grade.IN_DOUBT, "pods: 2 for 2"),
    (replace(WELL, groups=group(addresses=LEASE.nodes - 1)), "addresses", Grade.NOT_READY, "pods: 1 for 2"),
    (replace(WELL, groups=group(issues=("AmiIdNotFound: ami-1",))), "health", Grade.NOT_READY,
     "EKS reports a fault of node group lab-ng-gpu: AmiIdNotFound: ami-1"),
    (replace(WELL, groups=group(issues=("AsgInstanceLaunchFailures: no capacity",))), "health", Grade.IN_DOUBT,
     "AsgInstanceLaunchFailures"),
    (replace(WELL, groups={"gpu": None}), "minimum", Grade.NOT_READY, "does not exist"),
    (replace(WELL, offered={"g5.xlarge": frozenset()}), "offering", Grade.NOT_READY, "g5.xlarge"),
    (replace(WELL, inside=ClusterFacts(Autoscalers(asked=True), None)), "operator", Grade.IN_DOUBT, "no GPU Operator"),
    (replace(WELL, inside=ClusterFacts(Autoscalers(asked=True), "v26.3.1", ("kube-system/coredns",))), "add-ons",
     Grade.IN_DOUBT, "no pod is available of kube-system/coredns"),
    (replace(WELL, quotas={"g_and_vt_vcpus": VCPUS - 1.0}), "quota", Grade.NOT_READY,
     "the leases at these hours need 8 vCPUs, other instances use 0, and the quota of G and VT instances"),
])  # fmt: skip
def test_a_fact_that_is_not_right_is_a_finding_with_what_to_do(
    facts: Facts, check: str, grade: Grade, said: str
) -> None:
    [finding] = judged(facts).findings
    assert (finding.check, finding.grade) == (check, grade)
    assert said in str(finding.said)
    assert finding.advice


def test_an_old_image_keeps_no_window_from_opening() -> None:
    assert judged(replace(WELL, groups=group(release="1.35.1-20260101"))).findings == ()


@pytest.mark.parametrize(("others", "used", "is_ready"), [
    ([], VCPUS, True),
    ([], VCPUS + 1, False),
    ([beside("later", 5, 6)], VCPUS, True),
    ([beside("overlaps", 4, 6)], VCPUS, False),
    ([beside("overlaps", 4, 6)], 0, True),
    # One after the other, so that both never run at once.
    ([beside("first", 1, 3), beside("second", 3, 6)], 0, True),
    ([beside("first", 1, 3), beside("second", 2.5, 6)], 0, False),
    # What will be refused, or is over, starts no node.
    ([beside("first", 1, 3), beside("second", 2.5, 6, refusal="no money")], 0, True),
    ([beside("first", 1, 3), beside("second", 2.5, 6, state=LeaseState.CLOSED)], 0, True),
])  # fmt: skip
def test_the_quota_has_room_for_every_lease_at_its_hours_and_for_other_instances(
    others: list[Lease], used: int, is_ready: bool
) -> None:
    facts = replace(WELL, quotas={"g_and_vt_vcpus": 2.0 * VCPUS})
    window = replace(WINDOW, used={"g_and_vt_vcpus": used})
    assert found(judged(facts, window, others=tuple(others))) == [("quota", Grade.NOT_READY)] * (not is_ready)


def test_leases_of_other_pools_use_the_quota_too() -> None:
    pools = {name: {"instance_type": "g5.xlarge", "max_nodes": 2} for name in ("gpu", "second")}
    windows = [{**WINDOWS[0], "pool": "gpu"}]
    facts = replace(WELL, quotas={"g_and_vt_vcpus": VCPUS}, groups={**group(), "second": None})
    other = beside("other", 2, 3, pool="second")
    assert ("quota", Grade.NOT_READY) in found(judged(facts, others=(other,), pools=pools, windows=windows))
    assert ("quota", Grade.NOT_READY) not in found(judged(facts, pools=pools, windows=windows))


def test_a_capacity_block_uses_no_quota() -> None:
    block = {"buy": "reserved", "reservation": "cr-0123456789abcdef0", "reservation_type": "capacity-block"}
    pools = {"gpu": {"instance_type": "g5.xlarge", "max_nodes": 2, **block}}
    assert "quota" not in dict(found(judged(replace(WELL, quotas={"g_and_vt_vcpus": 0}), pools=pools)))


def test_one_of_several_types_that_is_not_offered_keeps_no_window_from_opening() -> None:
    kinds = {"g5.xlarge": frozenset({"ap-northeast-2a"}), "g5.2xlarge": frozenset[str]()}
    readiness = judged(
        replace(WELL, offered=kinds, quotas={"g_and_vt_vcpus": 99}),
        pools={"gpu": {"instance_types": [*kinds], "max_nodes": 2}},
    )
    assert found(readiness) == [("offering", Grade.IN_DOUBT)]


def test_what_the_planner_foresees_and_a_pause_count() -> None:
    refused = replace(LEASE, refusal=reason("lease.already-open"))
    assert found(judged(lease=refused)) == [("outlook", Grade.NOT_READY)]

    late = Pause("alice", NOW, LEASE.opens + HOUR)
    assert found(judged(pauses=(late,))) == [("pause", Grade.IN_DOUBT)]
    assert found(judged(pauses=(replace(late, until=None),))) == [("pause", Grade.NOT_READY)]
    assert found(judged(pauses=(replace(late, until=NOW + HOUR),))) == []


@pytest.mark.parametrize(("entries", "absent"), [
    ([*ROLES, NODE_ROLE], None),
    ([ROLES[0], NODE_ROLE], "lab-ap-northeast-2-guard"),
    ([ROLES[1], NODE_ROLE], "lab-ap-northeast-2-cluster"),
    (ROLES, "nodes"),
])  # fmt: skip
def test_functions_and_nodes_need_access_entries(entries: list[str], absent: str | None) -> None:
    readiness = judged(window=replace(WINDOW, entries=frozenset(entries)))
    said = [str(one.said) for one in readiness.findings]
    assert said == ([f"cluster lab has no access entry for {absent}"] if absent else [])
    assert readiness.grade is (Grade.NOT_READY if absent else Grade.READY)


def test_nodes_may_be_in_a_configmap_where_the_cluster_has_one() -> None:
    both = replace(WELL, cluster=replace(CLUSTER, authentication="API_AND_CONFIG_MAP"))
    assert judged(both, replace(WINDOW, entries=frozenset(ROLES))).findings == ()


@pytest.mark.parametrize(("facts", "window", "unread"), [
    (replace(WELL, cluster=REFUSED), WINDOW, "cluster"),
    (replace(WELL, groups={"gpu": REFUSED}), WINDOW, "addresses"),
    (replace(WELL, groups=group(addresses=None)), WINDOW, "addresses"),
    (replace(WELL, inside=REFUSED), WINDOW, "add-ons"),
    (replace(WELL, slack=REFUSED), WINDOW, "slack"),
    (replace(WELL, quotas={"g_and_vt_vcpus": REFUSED}), WINDOW, "quota"),
    (WELL, replace(WINDOW, used=REFUSED), "quota"),
    (replace(WELL, groups={"gpu": REFUSED}), WINDOW, "health"),
    (WELL, replace(WINDOW, entries=REFUSED), "access-entries"),
])  # fmt: skip
def test_what_could_not_be_read_is_no_bad_news(facts: Facts, window: WindowFacts, unread: str) -> None:
    readiness = judged(facts, window)
    assert readiness.findings == ()
    assert unread in readiness.unread


def test_a_window_of_several_types_may_open_with_the_smaller_one() -> None:
    kinds = ["g5.xlarge", "g5.2xlarge"]
    facts = replace(WELL, offered=dict.fromkeys(kinds, frozenset({"ap-northeast-2a"})))
    pools = {"gpu": {"instance_types": kinds, "max_nodes": 2}}
    assert found(judged(facts, pools=pools)) == [("quota", Grade.IN_DOUBT)]
