"""Limits of the checks, second by second: budgets, pulls and deadlines, room on a node, seats, and manifests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain import checks_manifests
from lamplighter.domain.checks import ALL_REDUCE, DCGM_1, NVIDIA_SMI, VECTOR_ADD, Check
from lamplighter.domain.checks_budget import pulled_in, ran_for, spent
from lamplighter.domain.checks_course import Course, Ending, Moves
from lamplighter.domain.checks_node import allocatable, labels, xid
from lamplighter.domain.checks_room import Room, room
from lamplighter.domain.checks_seats import GpuNode, NotJudged, Seat, fetches, seats
from lamplighter.domain.gpus import GpuType, gpu_type
from lamplighter.domain.instant import written
from lamplighter.domain.nodes import NodeFacts, PodFacts, Taint
from lamplighter.domain.verdict import Outcome, Verdict

READY = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
ASKED = READY + timedelta(seconds=60)
PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN


def kind(name: str = "g5.xlarge") -> GpuType:
    found = gpu_type(name)
    assert found is not None
    return found


def node(name: str = "a", gpus: int = 1, **labelled: str) -> GpuNode:
    facts = NodeFacts(
        name,
        f"i-{name}",
        READY,
        ready_since=READY,
        allocatable={"nvidia.com/gpu": gpus},
        labels={f"nvidia.com/gpu.{key.replace('_', '-')}": value for key, value in labelled.items()},
    )
    return GpuNode(facts, kind())


def at(seconds: float) -> datetime:
    return ASKED + timedelta(seconds=seconds)


def pod(seat: Seat | str, on: str = "a", phase: str = "Running", **more: Any) -> PodFacts:
    name = seat if isinstance(seat, str) else seat.name
    found = PodFacts(
        "lamplighter",
        f"{name}-{on}",
        on,
        phase,
        ASKED,
        annotations={"lamplighter/asked": written(ASKED)},
        gpus=1,
        scheduled=ASKED,
        began=ASKED,
    )
    return replace(found, **more)


def look(
    ladder: Sequence[Check], pods: dict[str, list[PodFacts]], after: float, *, budget: float = 480
) -> Moves:
    due, _ = seats(ladder, [node()], "cli-1")
    return Course(due, {"a": node()}, pods, {}, timedelta(seconds=budget), "cli-1", at(after)).moves()


def only(check: Check) -> Seat:
    ((seat,), _) = seats([check], [node()], "cli-1")
    return seat


@pytest.mark.parametrize(
    ("written_as", "seconds"),
    [("1h", 3600), ("1m", 60), ("1s", 1), ("1ms", 1e-3), ("1us", 1e-6), ("1µs", 1e-6), ("1ns", 1e-9)],
)
def test_every_unit_of_a_pull_is_read(written_as: str, seconds: float) -> None:
    said = f'Successfully pulled image "x" in {written_as} ({written_as} including waiting)'
    assert pulled_in(said) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("ready_before", "charged"),
    [(0, 0), (89, 89), (90, 90), (91, 90), (299, 90), (300, 0), (301, 0), (-5, 0)],
)
def test_setting_gpus_up_is_charged_up_to_90_seconds_and_not_to_a_node_that_was_there_before(
    ready_before: int, charged: int
) -> None:
    facts = replace(node().facts, ready_since=ASKED - timedelta(seconds=ready_before))
    assert spent(facts, [pod("one")], {}, ASKED).total_seconds() == charged
    assert spent(replace(facts, ready_since=None), [pod("one")], {}, ASKED) == timedelta()


def test_the_budget_counts_from_the_first_pod_and_takes_waiting_for_images_off_once() -> None:
    facts = node().facts
    later = pod("two", phase="Pending", created=at(10), began=None, scheduled=at(10))
    ran = pod("one", phase="Succeeded", ended=at(30))
    brings = replace(ran, name="fetch", gpus=0)

    assert spent(facts, [later], {}, at(20)).total_seconds() == 70 + 20 - 20
    assert spent(facts, [pod("one"), later], {}, at(20)).total_seconds() == 60 + 20 - 20
    assert spent(facts, [ran], {"one-a": 40.0}, at(35)).total_seconds() == 60 + 35 - 5
    assert spent(facts, [ran, brings], {"fetch": 4.0}, at(35)).total_seconds() == 60 + 35 - 4
    # A pod whose pull the kubelet has told waits for something else now.
    assert spent(facts, [replace(later, name="two")], {"two": 3.0}, at(20)).total_seconds() == 70 + 20 - 3
    assert spent(facts, [replace(later, scheduled=None)], {}, at(20)).total_seconds() == 70 + 20
    assert spent(facts, [replace(later, phase="Failed")], {}, at(20)).total_seconds() == 70 + 20


def test_a_container_ran_from_its_start_to_its_end_and_not_at_all_before() -> None:
    assert ran_for(pod("one", ended=at(7))) == timedelta(seconds=7)
    assert ran_for(pod("one")) == ran_for(pod("one", began=None, ended=at(7))) == timedelta()


@pytest.mark.parametrize(
    ("ladder", "most"), [([DCGM_1], 140), ([NVIDIA_SMI], 50), ([NVIDIA_SMI, VECTOR_ADD], 80)]
)
def test_a_check_may_run_for_its_seconds_and_those_of_what_queues_beside_it(
    ladder: list[Check], most: int
) -> None:
    seat = only(ladder[0])
    pods = {seat.name: [pod(seat)]}

    assert look(ladder, pods, most).endings == []
    (ending,) = look(ladder, pods, most + 1).endings
    assert ending.why == f"it ran for more than its {seat.check.seconds} seconds and was ended"
    assert look(ladder, {seat.name: [pod(seat, ended=at(1))]}, most + 1).endings == []
    assert look(ladder, {seat.name: [pod(seat, began=None)]}, most + 1).endings == []


def test_an_image_may_take_ten_minutes() -> None:
    seat = only(VECTOR_ADD)
    pulls = pod(seat, phase="Pending", began=None)

    assert look([VECTOR_ADD], {seat.name: [pulls]}, 600).endings == []
    (ending,) = look([VECTOR_ADD], {seat.name: [pulls]}, 601).endings
    assert ending.why == "its image did not come: not there after 10 minutes (Pending)"
    waits = replace(pulls, waiting="ErrImagePull: gone")
    (ending,) = look([VECTOR_ADD], {seat.name: [waits]}, 601).endings
    assert ending.why == "its image did not come: not there after 10 minutes (ErrImagePull: gone)"
    # On no node yet, nothing of it is pulled.
    assert look([VECTOR_ADD], {seat.name: [replace(pulls, scheduled=None)]}, 601, budget=9999).endings == []


@pytest.mark.parametrize(
    ("changes", "doing"),
    [
        ({}, "while it ran"),
        ({"waiting": "odd"}, "while it ran"),
        ({"phase": "Pending", "began": None, "scheduled": None}, "while it waited"),
        (
            {"phase": "Pending", "began": None, "scheduled": None, "waiting": "Unschedulable"},
            "while it waited (Unschedulable)",
        ),
    ],
)
def test_a_ladder_has_its_whole_budget_and_not_a_second_more(changes: dict[str, Any], doing: str) -> None:
    seat = only(DCGM_1)
    pods = {seat.name: [pod(seat, **changes)]}

    assert look([DCGM_1], pods, 60, budget=120).endings == []
    (ending,) = look([DCGM_1], pods, 61, budget=120).endings
    assert ending.why == f"the ladder's 2 minutes from the node's Ready were over {doing}"


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        (
            [pod("x", phase="Failed", exit_code=None, ended=at(1))],
            "it never ran to its end: Failed",
        ),
        (
            [pod("x", phase="Failed", exit_code=None, waiting="Evicted")],
            "it never ran to its end: Evicted",
        ),
        (
            [pod("x", phase="Failed", exit_code=137, waiting="DeadlineExceeded: odd")],
            "it never ran to its end: DeadlineExceeded: odd",
        ),
        ([pod("x", phase="Failed", exit_code=1, waiting="Error")], None),
        ([pod("x", phase="Succeeded", exit_code=0)], None),
    ],
)
def test_a_check_that_came_to_its_end_is_read_and_any_other_says_why_not(
    pods: list[PodFacts], why: str | None
) -> None:
    (ending,) = look([VECTOR_ADD], {only(VECTOR_ADD).name: pods}, 5).endings

    assert ending == Ending(only(VECTOR_ADD), tuple(pods), why)
    assert ending.well is (why is None and pods[0].exit_code == 0)


def test_what_a_check_waits_for_is_told_in_the_cluster_s_words() -> None:
    seat = only(VECTOR_ADD)

    assert look([VECTOR_ADD], {seat.name: [pod(seat)]}, 5).waiting == ["vectoradd on a: Running"]
    waits = [pod(seat, phase="Pending", waiting="Unschedulable")]
    assert look([VECTOR_ADD], {seat.name: waits}, 5).waiting == ["vectoradd on a: Unschedulable"]
    first = only(NVIDIA_SMI)
    later = look([NVIDIA_SMI, DCGM_1], {first.name: [pod(first)]}, 5)
    assert later.waiting == ["nvidia-smi on a: Running", "dcgm-1 on a has its turn later"]
    assert [image for _, image, _ in later.fetch] == ["dcgm"]


@pytest.mark.parametrize(
    ("fetched", "why"),
    [
        ([pod("f", phase="Failed", waiting="ErrImagePull")], "its image did not come to a: ErrImagePull"),
        (
            [pod("f", phase="Failed")],
            "its image did not come to a: the pod that was to bring it failed",
        ),
        ([pod("f", phase="Succeeded")], None),
    ],
)
def test_a_check_whose_image_never_comes_is_not_started(fetched: list[PodFacts], why: str | None) -> None:
    due, _ = seats([NVIDIA_SMI, DCGM_1], [node()], "cli-1")
    (name,) = fetches(due, "cli-1").values()
    done = pod(due[0], phase="Succeeded", exit_code=0, ended=at(1))

    moves = look([NVIDIA_SMI, DCGM_1], {due[0].name: [done], name: fetched}, 5)

    assert [ending.why for ending in moves.endings] == [None, *([why] if why else [])]
    assert [seat.check.name for seat in moves.start] == ([] if why else ["dcgm-1"])
    assert moves.fetch == []


@pytest.mark.parametrize(("seconds", "hangs"), [(299, False), (300, False), (301, True)])
def test_the_operator_s_validation_hangs_after_five_minutes(seconds: int, *, hangs: bool) -> None:
    validator = pod("v", created=READY, labels={"app": "nvidia-cuda-validator"})
    text = f"the operator's own validation ({validator.called}) still runs on a"

    found = room(VECTOR_ADD, node(), [validator], READY + timedelta(seconds=seconds))

    assert found == Room(f"{text}, after five minutes" if hangs else text, taken=hangs)
    assert room(VECTOR_ADD, node(), [validator], None) == Room(text)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ([2], None),
        ([3], "its GPUs are in use by class/0"),
        ([1, 1, 1], "its GPUs are in use by class/0, class/1, class/2"),
        ([1, 1, 1, 1], "its GPUs are in use by class/0, class/1, class/2"),
    ],
)
def test_people_s_work_leaves_room_for_what_it_does_not_hold(held: list[int], why: str | None) -> None:
    work = [
        PodFacts("class", str(number), "a", "Running", READY, gpus=gpus) for number, gpus in enumerate(held)
    ]
    two = replace(node(gpus=4), kind=replace(kind("g5.12xlarge"), count=2))

    found = room(NVIDIA_SMI, two, [*work, PodFacts("class", "idle", "a", "Running", READY)], READY)

    assert found == (Room() if why is None else Room(why, taken=True, used=True))


def test_checks_that_are_not_judged_say_how_many_nodes_there_are() -> None:
    sliced = node("c", product="NVIDIA-A100-MIG-1g.5gb")
    none = NotJudged("all_reduce", "it takes two nodes, and no node is ready")
    in_slices = NotJudged("all_reduce", "the GPUs are handed out in MIG slices")

    assert seats([ALL_REDUCE], [], "l") == ([], [none])
    assert seats([ALL_REDUCE], [node()], "l")[1] == [
        NotJudged("all_reduce", "it takes two nodes, and only one node is ready")
    ]
    assert seats([ALL_REDUCE], [node(), sliced], "l") == ([], [in_slices])
    assert in_slices.to_json() == {"check": "all_reduce", "why": "the GPUs are handed out in MIG slices"}


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        ("ab", [("a", "b", 0)]),
        ("abc", [("a", "b", 0), ("c", "a", 1)]),
        ("abcd", [("a", "b", 0), ("c", "d", 0)]),
        ("abcde", [("a", "b", 0), ("c", "d", 0), ("e", "a", 1)]),
    ],
)
def test_every_node_meets_one_neighbour(names: str, pairs: list[tuple[str, str, int]]) -> None:
    due, _ = seats([ALL_REDUCE], [node(name) for name in names], "l")

    assert [(*seat.nodes, seat.turn) for seat in due] == pairs
    assert sorted(name for seat in due for name in seat.judged) == list(names)
    assert not due[0].before(due[0])
    if len(due) > 1:
        assert due[0].before(due[-1]) is (due[-1].turn == 1 and "a" in due[-1].nodes)
        assert not due[-1].before(due[0])


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (
            node(gpus=3),
            Verdict(FAILED, "3 of 4 GPUs can be allocated", {"allocatable": 3, "expected": 4}),
        ),
        (
            node(gpus=8, replicas="2"),
            Verdict(PASSED, "8 of 8 GPUs can be allocated", {"allocatable": 8, "expected": 8}),
        ),
        (
            node(replicas="x"),
            Verdict(NOT_PROVEN, "the label that says by how many its GPUs are shared cannot be read"),
        ),
    ],
)
def test_what_can_be_allocated_is_told_with_what_was_expected(found: GpuNode, verdict: Verdict) -> None:
    assert allocatable(found.facts, kind("g5.12xlarge")) == verdict


def test_without_a_label_gpus_are_whole_unless_something_else_was_asked_for() -> None:
    assert allocatable(node(gpus=4).facts, kind("g5.12xlarge")).passed
    assert allocatable(node(gpus=16).facts, kind("g5.12xlarge"), 2, 2).passed


@pytest.mark.parametrize(
    ("labelled", "outcome", "reason"),
    [
        ({}, NOT_PROVEN, "GPU feature discovery has not labelled the node"),
        ({"count": "1"}, NOT_PROVEN, "GPU feature discovery has not labelled the node"),
        ({"product": "NVIDIA-A10G"}, NOT_PROVEN, "GPU feature discovery has not labelled the node"),
        (
            {"count": "1", "product": "Tesla-T4"},
            FAILED,
            "discovery found a Tesla-T4 where a g5.xlarge has NVIDIA A10G",
        ),
        (
            {"count": "2", "product": "NVIDIA-A10G"},
            FAILED,
            "discovery counts 2 GPUs where 1 are expected",
        ),
        ({"count": "1", "product": "A10G-SHARED"}, NOT_PROVEN, "discovery has not named the driver"),
    ],
)
def test_what_discovery_says_is_judged_in_turn(
    labelled: dict[str, str], outcome: Outcome, reason: str
) -> None:
    found = labels(node("a", 1, **labelled).facts, kind(), discovery=True)
    assert isinstance(found, Verdict)
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize("driver", ["nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.major"])
def test_discovery_that_names_model_count_and_driver_passes(driver: str) -> None:
    shown = {"nvidia.com/gpu.count": "1", "nvidia.com/gpu.product": "NVIDIA-A10G", driver: "580"}
    facts = replace(node().facts, labels={**shown, "other": "x"})

    assert labels(facts, kind(), discovery=False) == Verdict(
        PASSED, "discovery found 1 NVIDIA A10G and its driver", shown
    )


@pytest.mark.parametrize(
    ("monitored", "fault", "printed", "said"),
    [
        (False, "", None, "no device plugin's log can be read and no node monitoring agent runs"),
        (True, "", None, "no fatal XID is reported by the node monitoring agent"),
        (False, "", "", "no fatal XID is reported by the device plugin's log"),
        (
            True,
            "",
            "fine",
            "no fatal XID is reported by the node monitoring agent and the device plugin's log",
        ),
        (
            True,
            "NvidiaXID79Error",
            "",
            "the node monitoring agent calls the accelerator not ready (XID 79): NvidiaXID79Error",
        ),
        (True, "odd", "", "the node monitoring agent calls the accelerator not ready: odd"),
        (False, "", "x Xid (PCI:0000): 79", "XID 79: x Xid (PCI:0000): 79"),
        (False, "", "x Xid (PCI:0000): 13", "no fatal XID is reported by the device plugin's log"),
        (False, "", "XidCriticalError: Xid=13", "XID 13: XidCriticalError: Xid=13"),
    ],
)
def test_who_was_asked_for_fatal_errors_is_told(
    monitored: bool, fault: str, printed: str | None, said: str
) -> None:
    facts = replace(node().facts, monitored=monitored, hardware_fault=fault)
    found = xid(facts, printed, READY)
    assert (found if isinstance(found, str) else found.reason) == said


def test_a_check_between_nodes_meets_at_its_port_and_gives_up_after_its_time() -> None:
    errand = checks_manifests.Errand("cli-1", "gpu", written(ASKED))
    found: Any = checks_manifests.job(ALL_REDUCE, errand, "seat", [node("a").facts, node("b").facts])
    meeting: Any = checks_manifests.service(ALL_REDUCE, errand, "seat")
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
        Taint("nvidia.com/gpu", "true", "NoSchedule"),
        Taint("lab", "", "NoExecute"),
        Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),
    )
    facts = replace(
        node().facts, taints=taints, allocatable={"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 4}
    )
    errand = checks_manifests.Errand("cli-1", "gpu", written(ASKED))

    found: Any = checks_manifests.pod(VECTOR_ADD, errand, "seat", facts, kind())
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
    fetched: Any = checks_manifests.fetch("dcgm", errand, "seat", facts)
    assert fetched["spec"]["activeDeadlineSeconds"] == 600
    root: Any = checks_manifests.pod(DCGM_1, errand, "seat", facts, kind())
    assert "runAsUser" not in root["spec"]["containers"][0]["securityContext"]


def test_a_seat_has_one_name_for_its_check_lease_and_nodes() -> None:
    name = checks_manifests.seat_name

    assert name("all_reduce", "cli-1", ("a", "b")) == name("all_reduce", "cli-1", ["a", "b"])
    assert name("all_reduce", "cli-1", ("a", "b")).startswith("all-reduce-")
    assert len(name("x", "cli-1", ("a",))) == len("x-") + 10
    assert len({name("x", lease, on) for lease in ("1", "2") for on in (("a",), ("b",), ("a", "b"))}) == 6
