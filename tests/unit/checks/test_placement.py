"""Room on a node, placements of checks, checks without a pod, and the manifests of the pods."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks.free_resources import FreeResources, room
from lamplighter.domain.checks.ladder import (
    ALL_REDUCE,
    ALL_REDUCE_NODE,
    DCGM_1,
    FABRIC,
    NVIDIA_SMI,
    NVLINK,
    VECTOR_ADD,
)
from lamplighter.domain.checks.node import allocatable, labels, xid
from lamplighter.domain.checks.placement import GpuNode, NotJudged, placements, without_equal
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.pool.nodes import NodeTaint, PodFacts
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.values.instant import written
from tests.unit.checks.built import ASKED, READY, kind, node, pod

LINK, SWITCH = "Xid (PCI:0000): 74, NVLink", "SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN


@pytest.mark.parametrize(("seconds", "hangs"), [(299, False), (300, False), (301, True)])
def test_the_operator_s_validation_hangs_after_five_minutes(seconds: int, *, hangs: bool) -> None:
    validator = pod("v", created=READY, labels={"app": "nvidia-cuda-validator"})
    runs = reason("check.validation-runs", pod=validator.called, node="a")
    stuck = reason("check.validation-hangs", pod=validator.called, node="a", minutes=5)

    found = room(VECTOR_ADD, node(), [validator], READY + timedelta(seconds=seconds))

    assert found == FreeResources(stuck if hangs else runs, taken=hangs)
    assert room(VECTOR_ADD, node(), [validator], None) == FreeResources(runs)
    assert room(VECTOR_ADD, node(), [replace(validator, phase="Succeeded")], READY) == FreeResources()
    other_lease_s = PodFacts("lamplighter", "vectoradd-1", "a", "Running", READY, gpus=1)
    assert room(VECTOR_ADD, node(), [other_lease_s], READY).why is None


@pytest.mark.parametrize(("held", "why"), [
    ([2], None),
    ([3], reason("check.gpus-in-use", pods=("class/0",))),
    ([1, 1, 1], reason("check.gpus-in-use", pods=("class/0", "class/1", "class/2"))),
    ([1, 1, 1, 1], reason("check.gpus-in-use", pods=("class/0", "class/1", "class/2", "class/3"))),
])  # fmt: skip
def test_people_s_work_leaves_room_for_what_it_does_not_hold(held: list[int], why: Reason | None) -> None:
    work = [
        PodFacts("class", str(number), "a", "Running", READY, gpus=gpus) for number, gpus in enumerate(held)
    ]
    two = replace(node(gpus=4), kind=replace(kind("g5.12xlarge"), count=2))

    found = room(NVIDIA_SMI, two, [*work, PodFacts("class", "idle", "a", "Running", READY)], READY)

    assert found == (FreeResources() if why is None else FreeResources(why, taken=True, used=True))


def test_checks_that_are_not_judged_say_how_many_nodes_there_are() -> None:
    sliced = node("c", product="NVIDIA-A100-MIG-1g.5gb")
    none = NotJudged("all_reduce", reason("check.no-node-ready"))
    in_slices = NotJudged("all_reduce", reason("check.offered-in-slices"))

    assert placements([ALL_REDUCE], [], "l") == ([], [none])
    assert placements([ALL_REDUCE], [node()], "l")[1] == [
        NotJudged("all_reduce", reason("check.one-node-ready"))
    ]
    assert placements([ALL_REDUCE], [node(), sliced], "l") == ([], [in_slices])
    assert to_document(in_slices) == {
        "check": "all_reduce",
        "why": document(reason("check.offered-in-slices")),
    }


def test_only_nodes_of_one_type_are_compared_and_one_without_an_equal_is_not_proven() -> None:
    other = kind("g6.xlarge")
    a, b, c = node("a"), node("b"), replace(node("c"), kind=other)
    alone = reason("check.no-equal-node", type="g6.xlarge", others=("g5.xlarge",))

    due, left_out = placements([ALL_REDUCE], [a, c, b], "l")

    assert ([each.nodes for each in due], left_out) == ([("a", "b")], [])
    assert [*without_equal([NVIDIA_SMI, ALL_REDUCE], [a, c, b])] == [("all_reduce", "c", alone)]
    assert placements([ALL_REDUCE], [a, c], "l") == ([], [])
    assert [(name, where) for name, where, _ in without_equal([ALL_REDUCE], [a, c])] == [
        ("all_reduce", "a"),
        ("all_reduce", "c"),
    ]
    assert [*without_equal([ALL_REDUCE], [a, b])] == [*without_equal([ALL_REDUCE], [a])] == []


def test_what_lies_between_the_gpus_of_a_node_is_checked_where_it_has_several_whole_ones() -> None:
    many = replace(node("m", gpus=4), kind=kind("g5.12xlarge"))
    time_sliced = replace(node("t", gpus=16, replicas="4"), kind=many.kind)
    unlabelled = replace(many, replicas=4)
    in_time = [NotJudged("all_reduce_node", reason("check.offered-in-time-slices"))]

    due, left_out = placements([ALL_REDUCE_NODE], [node("one"), many], "l")
    assert ([each.nodes for each in due], left_out) == ([("m",)], [])
    assert placements([ALL_REDUCE_NODE], [node("one")], "l") == ([], [])
    assert placements([ALL_REDUCE_NODE], [time_sliced], "l") == ([], in_time)
    assert placements([ALL_REDUCE_NODE], [unlabelled], "l") == ([], in_time)


@pytest.mark.parametrize(("name", "told"), [
    ("p5.48xlarge", True), ("p6-b200.48xlarge", True), ("p5.4xlarge", False), ("p4d.24xlarge", False),
    ("g6.48xlarge", False),
])  # fmt: skip
def test_the_fabric_is_checked_where_nvml_tells_its_state(name: str, *, told: bool) -> None:
    where = replace(node(gpus=8), kind=kind(name))
    due, left_out = placements([FABRIC], [where], "l")
    assert (len(due), left_out) == (int(told), [])


@pytest.mark.parametrize(("name", "told"), [
    ("p5.48xlarge", True), ("p6-b200.48xlarge", True), ("p5.4xlarge", False), ("p4d.24xlarge", True),
    ("g6.48xlarge", False),
])  # fmt: skip
def test_nvlinks_are_checked_on_types_that_have_them(name: str, *, told: bool) -> None:
    where = replace(node(gpus=8), kind=kind(name))
    due, left_out = placements([NVLINK], [where], "l")
    assert (len(due), left_out) == (int(told), [])


@pytest.mark.parametrize(("names", "pairs"), [
    ("ab", [("a", "b", 0)]),
    ("abc", [("a", "b", 0), ("c", "a", 1)]),
    ("abcd", [("a", "b", 0), ("c", "d", 0)]),
    ("abcde", [("a", "b", 0), ("c", "d", 0), ("e", "a", 1)]),
])  # fmt: skip
def test_every_node_meets_one_neighbour(names: str, pairs: list[tuple[str, str, int]]) -> None:
    due, _ = placements([ALL_REDUCE], [node(name) for name in names], "l")

    assert [(*placement.nodes, placement.turn) for placement in due] == pairs
    assert sorted(name for placement in due for name in placement.judged) == list(names)
    assert not due[0].before(due[0])
    if len(due) > 1:
        assert due[0].before(due[-1]) is (due[-1].turn == 1 and "a" in due[-1].nodes)
        assert not due[-1].before(due[0])


@pytest.mark.parametrize(("found", "verdict"), [
    (node(gpus=3), Verdict(FAILED, reason("check.node.allocatable", allocatable=3, expected=4), {"allocatable": 3,
     "expected": 4})),
    (node(gpus=8, replicas="2"), Verdict(PASSED, reason("check.node.allocatable", allocatable=8, expected=8),
     {"allocatable": 8, "expected": 8})),
    (node(replicas="x"), Verdict(NOT_PROVEN, reason("check.node.replicas-unread"))),
])  # fmt: skip
def test_what_can_be_allocated_is_told_with_what_was_expected(found: GpuNode, verdict: Verdict) -> None:
    assert allocatable(found.facts, kind("g5.12xlarge")) == verdict


@pytest.mark.parametrize(("labelled", "outcome", "reason"), [
    ({}, NOT_PROVEN, reason("check.node.not-labelled")),
    ({"count": "1"}, NOT_PROVEN, reason("check.node.not-labelled")),
    ({"product": "NVIDIA-A10G"}, NOT_PROVEN, reason("check.node.not-labelled")),
    ({"count": "1", "product": "Tesla-T4"}, FAILED, reason("check.node.other-model", model="Tesla-T4", type="g5.xlarge",
     expected="NVIDIA A10G")),
    ({"count": "2", "product": "NVIDIA-A10G"}, FAILED, reason("check.node.counted", counted="2", expected=1)),
    ({"count": "1", "product": "A10G-SHARED"}, NOT_PROVEN, reason("check.node.no-driver")),
])  # fmt: skip
def test_what_discovery_says_is_judged_in_turn(
    labelled: dict[str, str], outcome: Outcome, reason: Said
) -> None:
    found = labels(node("a", 1, **labelled).facts, kind(), discovery=True)
    assert isinstance(found, Verdict)
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize("driver", ["nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major"])
def test_discovery_that_names_model_count_and_driver_passes(driver: str) -> None:
    shown = {"nvidia.com/gpu.count": "1", "nvidia.com/gpu.product": "NVIDIA-A10G", driver: "580"}
    facts = replace(node().facts, labels={**shown, "other": "x"})

    assert labels(facts, kind(), discovery=False) == Verdict(
        PASSED, reason("check.node.labelled", counted="1", model="NVIDIA A10G"), shown
    )


@pytest.mark.parametrize(("monitored", "fault", "printed", "said"), [
    (False, "", None, reason("check.node.xid-unwatched")),
    (True, "", None, reason("check.node.no-xid-of-agent")),
    (False, "", "", reason("check.node.no-xid-in-log")),
    (True, "", "fine", reason("check.node.no-xid")),
    (True, "NvidiaXID79Error", "", reason("check.node.not-healthy-xid", xid=79, words="NvidiaXID79Error")),
    (True, "odd", "", reason("check.node.not-healthy", words="odd")),
    (False, "", "x Xid (PCI:0000): 79", reason(
        "check.node.xid", xid=79, line="x Xid (PCI:0000): 79", action=reason("check.node.xid-reboot"))),
    (False, "", "x Xid (PCI:0000): 13", reason("check.node.no-xid-in-log")),
    (False, "", "x Xid (PCI:0000): 172", reason("check.node.xid-unlisted", xid=172, line="x Xid (PCI:0000): 172")),
    (False, "", f"{LINK}\n{SWITCH}", Sentences((reason(
        "check.node.xid", xid=74, line=LINK, action=reason("check.node.xid-reset")), reason(
        "check.node.sxid", line=SWITCH)))),
    (True, "DCGMError: lost", "", reason("check.node.no-xid-in-log")),
    (True, "DCGMError: lost", None, reason("check.node.agent-lost", words="DCGMError: lost")),
    (False, "", "XidCriticalError: Xid=13", reason(
        "check.node.xid", xid=13, line="XidCriticalError: Xid=13", action=reason("check.node.xid-reset"))),
])  # fmt: skip
def test_who_was_asked_for_fatal_errors_is_told(
    monitored: bool, fault: str, printed: str | None, said: str
) -> None:
    facts = replace(node().facts, monitored=monitored, hardware_fault=fault)
    found = xid(facts, printed, READY)
    assert (found.reason if isinstance(found, Verdict) else found) == said


def test_an_old_condition_of_the_agent_fails_with_its_age() -> None:
    since = READY - timedelta(days=8)
    facts = replace(
        node().facts, monitored=True, hardware_fault="DCGMHealthCode4", hardware_fault_since=since
    )
    found = xid(facts, "", READY)
    assert isinstance(found, Verdict)
    assert (found.outcome, found.reason) == (FAILED, Sentences((
        reason("check.node.not-healthy", words="DCGMHealthCode4"),
        reason("check.node.sticky", since=since, age=timedelta(days=8)),
    )))  # fmt: skip


def test_a_check_between_nodes_meets_at_its_port_and_gives_up_after_its_time() -> None:
    origin = checks_manifests.CheckOrigin("cli-1", "gpu", written(ASKED))
    found: Any = checks_manifests.job(
        ALL_REDUCE, origin, "seat", [node("a").facts, node("b").facts], node("a").kind
    )
    meeting: Any = checks_manifests.service(ALL_REDUCE, origin, "seat")
    spec = found["spec"]

    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (2, 2, 0)
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (840, 3600)
    inside = spec["template"]["spec"]
    assert (inside["activeDeadlineSeconds"], inside["terminationGracePeriodSeconds"]) == (840, 0)
    assert (inside["automountServiceAccountToken"], inside["enableServiceLinks"]) == (False, False)
    (container,) = inside["containers"]
    assert "--nnodes 2 --nproc-per-node 1 --node-rank" in container["command"][2]
    assert "--master-addr seat-0.seat --master-port 29500 " in container["command"][2]
    assert container["resources"]["limits"] == {"memory": "8Gi", "nvidia.com/gpu": "1"}
    assert meeting["spec"]["ports"] == [{"name": "master", "port": 29500}]
    assert meeting["spec"]["publishNotReadyAddresses"] is True


def test_a_check_s_pod_tolerates_its_node_s_own_taints_and_takes_the_resource_that_is_offered() -> None:
    taints = (
        NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),
        NodeTaint("lab", "", "NoExecute"),
        NodeTaint("node.kubernetes.io/not-ready", "", "NoSchedule"),
    )
    facts = replace(
        node().facts, taints=taints, allocatable={"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 4}
    )
    origin = checks_manifests.CheckOrigin("cli-1", "gpu", written(ASKED))

    found: Any = checks_manifests.pod(VECTOR_ADD, origin, "seat", facts, kind())
    spec = found["spec"]
    (container,) = spec["containers"]

    assert spec["tolerations"] == [
        {"key": "lab", "effect": "NoExecute", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "effect": "NoSchedule", "operator": "Equal", "value": "true"},
    ]
    assert spec["activeDeadlineSeconds"] == 630
    assert container["resources"]["limits"] == {"memory": "1Gi", "nvidia.com/gpu.shared": "1"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    fetched: Any = checks_manifests.fetch("dcgm", origin, "seat", facts)
    assert fetched["spec"]["activeDeadlineSeconds"] == 600
    root: Any = checks_manifests.pod(DCGM_1, origin, "seat", facts, kind())
    assert "runAsUser" not in root["spec"]["containers"][0]["securityContext"]


def test_a_seat_has_one_name_for_its_check_lease_and_nodes() -> None:
    name = checks_manifests.placement_name

    assert name("all_reduce", "cli-1", ("a", "b")) == name("all_reduce", "cli-1", ["a", "b"])
    assert name("all_reduce", "cli-1", ("a", "b")).startswith("all-reduce-")
    assert len(name("x", "cli-1", ("a",))) == len("x-") + 10
    assert len({name("x", lease, on) for lease in ("1", "2") for on in (("a",), ("b",), ("a", "b"))}) == 6
