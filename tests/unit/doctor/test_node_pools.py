"""The doctor's checks of labs with NodePools: ok, not ok and not known, each by its own line."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from docs.doctor import DESCRIPTIONS
from lamplighter.domain.capacity.node_pool.controller import Controller
from lamplighter.domain.doctor.checks import CHECKS, OF_NODE_POOLS, OF_RESERVATIONS, OF_SPOT
from lamplighter.domain.doctor.facts import ClusterFacts, Facts
from lamplighter.domain.doctor.karpenter_facts import BarState, KarpenterFacts, LaunchingRole, NodePoolFacts
from lamplighter.domain.doctor.line import LineOutcome
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.domain.pool.node_pool_adoption import ExistingNodeClass, ExistingNodePool
from lamplighter.lab.model import Lab
from tests.unit.doctor.cases import CLUSTER, FACTS, REFUSED, lab, said

CONTROLLER = Controller("kube-system/karpenter", "1.14.3", 2, 2, queue="lab-karpenter")
FOUND = ExistingNodePool(
    name="lab-gpu",
    kind="karpenter",
    replicas=0,
    most=2,
    instance_types=("g5.xlarge",),
    architectures=("amd64",),
    grace=timedelta(minutes=10),
    expires_after=timedelta(hours=14),
    node_class=ExistingNodeClass("lab-gpu", aliases=("al2023@v20260724",), role="nodes"),
)
POOL = NodePoolFacts(
    found=FOUND,
    bar=BarState.REFUSES,
    access="EC2_LINUX",
    role="nodes",
    launching=LaunchingRole("lab-karpenter", ("Rights",), ()),
)
KARPENTER = KarpenterFacts(controllers=(CONTROLLER,), queues={"lab-karpenter": True}, pools={"gpu": POOL})
WELL = replace(
    FACTS, groups={"gpu": None}, claims={"lab-gpu": "lab"}, karpenter=KARPENTER,
    inside=ClusterFacts(Autoscalers(asked=True, nodepools=("lab-gpu",)), "v26.3.1"),
)  # fmt: skip


def of_karpenter(**more: Any) -> Lab:
    document: dict[str, Any] = {
        "cluster": {"karpenter": {"version": "1.14.3"}},
        "pools": {"gpu": {"kind": "karpenter"}},
        "guard": {"longest_lease": "8h"},
    }
    return lab(**(document | more))


def of_auto_mode() -> Lab:
    return of_karpenter(cluster={"auto_mode": {"enabled": True}}, pools={"gpu": {"kind": "auto-mode"}})


def facts(**more: Any) -> Facts:
    return replace(WELL, karpenter=replace(KARPENTER, **more))


def pool(**more: Any) -> Facts:
    return facts(pools={"gpu": replace(POOL, **more)})


def found(**more: Any) -> Facts:
    return pool(found=replace(FOUND, **more))


def controller(**more: Any) -> Facts:
    one = replace(CONTROLLER, **more)
    return facts(controllers=(one,), queues={one.queue: True})


def test_a_lab_in_order_is_all_ok() -> None:
    lines = said(WELL, of_karpenter())

    wrong = {line.check: line.said for line in lines.values() if line.outcome is not LineOutcome.OK}
    assert wrong == {}
    assert [check.name for check in OF_NODE_POOLS] == [
        name for name in lines if name not in {check.name for check in CHECKS}
    ]


def test_a_lab_of_node_groups_is_asked_nothing_of_it() -> None:
    assert not {check.name for check in OF_NODE_POOLS} & said().keys()


def test_before_a_deploy_the_deploy_decides_them() -> None:
    before = replace(WELL, deployed=False, cluster=None, karpenter=None, inside=None, claims={})
    lines = said(before, of_karpenter(slack=None))
    assert {line.outcome for line in lines.values()} == {LineOutcome.OK}
    assert "the deploy creates NodePool lab-gpu" in lines["node-pool"].said


@pytest.mark.parametrize(("more", "then"), [
    ({}, "ends such nodes in its second sweep"), ({"guard": {"mode": "watch"}}, "only reports such nodes"),
])  # fmt: skip
def test_another_node_pool_is_told_with_what_the_guard_does_about_its_nodes(
    more: dict[str, Any], then: str
) -> None:
    line = said(replace(WELL, inside=OTHER), of_karpenter(**more))["autoscalers"]
    assert line.said.startswith("NodePool other may start GPU nodes")
    assert line.said.endswith(f"the guard of this lab {then}")


ABSENT = {"karpenter-version", "karpenter-queue"}
"""What cannot be told of a Karpenter that is not there."""
LOCKED = LaunchingRole("r", ("lamplighter-lock-lab-gpu", "Rights"), ())
SPOT = {"gpu": replace(POOL, found=replace(FOUND, capacity_types=("spot",)))}
OTHER = ClusterFacts(Autoscalers(asked=True, nodepools=("lab-gpu", "other")), "v26.3.1")
WRONG = [
    ("karpenter", facts(controllers=()), "no Karpenter runs in cluster lab"),
    ("karpenter", controller(wanted=0, available=0), "kube-system/karpenter has 0 replicas"),
    ("karpenter", controller(available=0, why_not="Deployment does not have minimum availability."),
     "0 of 2 pods available, so no node starts, and only EC2 ends one: Deployment does not have minimum"),
    ("karpenter", controller(available=0), "Kubernetes gives no reason"),
    ("karpenter", facts(absent_kinds=("nodepools.karpenter.sh",)), "no CustomResourceDefinition nodepools."),
    ("karpenter-version", controller(version="1.8.3"), "Kubernetes 1.26 to 1.34, and the cluster has 1.35"),
    ("karpenter-version", controller(version="1.8.4"), "Karpenter 1.8.4 has a known fault"),
    ("karpenter-version", controller(static_capacity=False), "has no static NodePools"),
    ("karpenter-queue", controller(queue=""), "reads no queue of interruptions"),
    ("karpenter-queue", facts(queues={"lab-karpenter": False}), "queue lab-karpenter, from which Karpenter reads"),
    ("launching-role", pool(launching=LOCKED), "the failsafe's lock lamplighter-lock-lab-gpu is on role r"),
    ("launching-role", pool(launching=LaunchingRole("r", (), ())), "role r has no policy"),
    ("launching-role", facts(spot_role=False, pools=SPOT), "no service-linked role"),
    ("node-pool", pool(found=None), "NodePool lab-gpu of pool gpu does not exist"),
    ("node-pool", found(grace=None), "has no terminationGracePeriod"),
    ("node-pool", found(grace=timedelta(hours=24)), "has a terminationGracePeriod of 24h"),
    ("node-pool", found(expires_after=timedelta(hours=8)), "live 8h, and a lease may last 8h"),
    ("node-pool", found(writers=("argocd-controller",)), "argocd-controller writes the size"),
    ("node-pool", found(never_register=True), "started and none registered"),
    ("node-pool", found(unknown_keys=("eks.amazonaws.com/x",)), "does not know the requirement"),
    ("node-access", pool(access=None), "role nodes of the nodes of pool gpu has no access entry"),
    ("node-access", pool(access="STANDARD"), "an access entry of type STANDARD, which lets no node in"),
    ("node-access", pool(access="EC2"), "an access entry of type EC2, which lets no node in"),
    ("launch-bar", pool(bar=BarState.ACCEPTS), "accepts a NodeClaim of NodePool lab-gpu"),
    ("autoscalers", replace(WELL, inside=OTHER), "NodePool other may start GPU nodes"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "facts_", "words"), WRONG)
def test_what_is_wrong_is_said_by_its_own_line_alone(check: str, facts_: Facts, words: str) -> None:
    lines = said(facts_, of_karpenter())

    assert [line.check for line in lines.values() if line.outcome is LineOutcome.NOT_OK] == [check]
    not_known = {line.check for line in lines.values() if line.outcome is LineOutcome.NOT_KNOWN}
    assert not_known == (ABSENT if "no Karpenter runs" in words else set())
    assert words in lines[check].said
    assert lines[check].advice


def test_every_check_has_a_case_in_which_it_is_not_ok() -> None:
    assert {check.name for check in OF_NODE_POOLS} - {"auto-mode"} <= {case[0] for case in WRONG}


EVERY = {check.name for check in OF_NODE_POOLS} - {"auto-mode"}
OF_THE_CONTROLLER = {"karpenter", "karpenter-version", "karpenter-queue"}
UNKNOWN = [
    (replace(WELL, karpenter=REFUSED), EVERY),
    (facts(controllers=REFUSED), OF_THE_CONTROLLER),
    (facts(absent_kinds=REFUSED), {"karpenter"}),
    (controller(version=None), {"karpenter-version"}),
    (controller(version="9.9.9"), {"karpenter-version"}),
    (facts(queues={"lab-karpenter": REFUSED}), {"karpenter-queue"}),
    (facts(pools={"gpu": REFUSED}), {"launching-role", "node-pool", "node-access", "launch-bar"}),
    (pool(launching=REFUSED), {"launching-role"}),
    (pool(access=REFUSED), {"node-access"}),
    (pool(role=""), {"node-access"}),
    (pool(bar=REFUSED), {"launch-bar"}),
]


@pytest.mark.parametrize(("facts_", "checks"), UNKNOWN)
def test_what_could_not_be_read_is_not_known_and_never_ok(facts_: Facts, checks: set[str]) -> None:
    lines = said(facts_, of_karpenter())
    assert {line.check for line in lines.values() if line.outcome is LineOutcome.NOT_KNOWN} == checks


def test_what_its_owner_chose_is_ok_and_said() -> None:
    lines = said(found(capacity_types=("spot",)), of_karpenter())
    assert {line.outcome for line in lines.values()} == {LineOutcome.OK}


def test_a_pool_of_auto_mode_needs_no_karpenter_and_lets_nodes_in_by_another_entry() -> None:
    on = replace(pool(access="EC2", launching=None), cluster=replace(CLUSTER, auto_mode=True))
    lines = said(on, of_auto_mode())

    assert {line.outcome for line in lines.values()} == {LineOutcome.OK}
    assert lines["karpenter"].said == "no pool of the lab needs Karpenter"
    assert lines["auto-mode"].said == "EKS Auto Mode is on in cluster lab"
    assert said(WELL, of_karpenter())["auto-mode"].said == "no pool of the lab needs EKS Auto Mode"


def test_auto_mode_that_a_failsafe_switched_off_is_not_ok() -> None:
    off = replace(pool(access="EC2", launching=None), cluster=replace(CLUSTER, auto_mode=False))
    line = said(off, of_auto_mode())["auto-mode"]

    assert line.outcome is LineOutcome.NOT_OK
    assert "no NodePool of the lab starts a node" in line.said
    assert "update-cluster-config" in line.advice
    assert said(replace(off, cluster=REFUSED), of_auto_mode())["auto-mode"].outcome is LineOutcome.NOT_KNOWN


def test_a_bar_that_must_refuse_nothing_now_is_ok() -> None:
    watched = of_karpenter(guard={"mode": "watch"})
    assert "is only watched" in said(pool(bar=BarState.ACCEPTS), watched)["launch-bar"].said
    assert "open for a lease" in said(pool(bar=BarState.OPEN), of_karpenter())["launch-bar"].said


def test_what_the_lab_leaves_out_is_taken_from_the_node_pool() -> None:
    adopts = of_karpenter(
        cluster={"existing": "lab", "karpenter": {"existing": True}},
        pools={"gpu": {"kind": "karpenter", "existing": "lab-gpu"}},
    )

    assert "2 nodes g5.xlarge of pool gpu" in said(WELL, adopts)["quota-g-vt"].said
    assert CLUSTER.name == "lab"


def test_each_check_is_described() -> None:
    every = (*CHECKS, *OF_RESERVATIONS, *OF_SPOT, *OF_NODE_POOLS)
    assert list(DESCRIPTIONS) == [check.name for check in every]
