"""Pods that do not work: their own cause, or the scheduler's."""

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    event,
    healthy,
    no_gpus,
    node,
    pod,
    told,
    train,
    under_way,
    waiting,
    without,
)

SECOND = 1 / 60

NODE = NODES[0]

TOO_OLD = "unsatisfied condition: cuda>=13.0, please update your driver"

MISMATCH = "driver/library version mismatch"


def asking(gpus: int = 1, minute: float = 3) -> Document:
    return pod("more", "lab", None, gpus=gpus, phase="Pending", minute=minute)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (MISMATCH, "driver-mismatch"),
        ("couldn't communicate with the NVIDIA driver", "driver-broken"),
        (TOO_OLD, None),
        ("could not load NVML", None),
    ],
)
def test_a_pod_that_runs_on_tells_of_a_driver_that_no_longer_works_and_of_nothing_else(
    said: str, cause: str | None
) -> None:
    line = [f"lab/train-0 on {NODE}: {said}"]
    assert told(at_work(train_0=said)) == ([] if cause is None else [(cause, "lab/train-0", line)])
    ended = at_work(train("Succeeded"), train_0=said)
    assert told(ended) == []


def test_a_pod_that_runs_on_an_explained_node_adds_nothing() -> None:
    document = at_work(train_0=MISMATCH)
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    node_of(document, 0)["status"]["conditions"].append(fault)
    assert [cause for cause, _, _ in told(document)] == ["xid"]


@pytest.mark.parametrize(
    ("reason", "message", "finding"),
    [
        ("CreateContainerError", TOO_OLD, ("driver-too-old", "lab/train-0", [f"lab/train-0: {TOO_OLD}"])),
        (
            "ErrImagePull",
            "gone",
            ("image-pull-failed", "lab/train-0", ["lab/train-0 main: ErrImagePull gone"]),
        ),
        ("CreateContainerError", MISMATCH, None),
        ("CrashLoopBackOff", "odd", None),
    ],
)
def test_on_a_node_with_a_trouble_of_its_own_a_pod_s_image_alone_is_still_said(
    reason: str, message: str, finding: tuple[str, str, list[str]] | None
) -> None:
    document = at_work(waiting(train(), reason, message))
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    node_of(document, 0)["status"]["conditions"].append(fault)
    assert [each for each in told(document) if each[0] != "xid"] == ([] if finding is None else [finding])


def test_on_a_node_that_is_not_ready_nothing_is_said_of_its_pods() -> None:
    document = at_work(waiting(train(), "ErrImagePull", "gone"))
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
    assert [cause for cause, _, _ in told(document)] == ["node-not-ready"]


def test_a_library_that_is_missing_is_the_image_s_fault_where_that_has_no_driver() -> None:
    document = at_work(waiting(train(), "CreateContainerError", "could not load NVML"))
    said = ["lab/train-0: could not load NVML"]
    assert told(document) == [("runtime-missing", "lab/train-0", said)]
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    assert told(document) == [("wrong-ami", POOL, said)]
    # A pod that failed for that reason has its cause there, and is not unknown as well.
    waiting_pod = next(
        each for each in document["kubernetes"]["pods"] if each["metadata"]["name"] == "train-0"
    )
    waiting_pod["status"]["phase"] = "Failed"
    assert told(document) == [("wrong-ami", POOL, said)]


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no"}, True),
        ({"phase": "Failed", "reason": "OutOfnvidia.com/gpu", "message": "no"}, True),
        ({"phase": "Failed", "reason": "x", "message": "UnexpectedAdmissionError"}, True),
        ({"phase": "Running", "reason": "x", "message": "UnexpectedAdmissionError"}, False),
        ({"phase": "Failed", "reason": "Evicted", "message": "no"}, False),
    ],
)
def test_a_refusal_of_the_kubelet_is_quoted(status: Document, *, refused: bool) -> None:
    work = train("Failed")
    work["status"] = {**status, "conditions": [{"type": "Ready", "status": "False"}]}
    said = f"lab/train-0 on {NODE}: {status['reason']} {status['message']}"
    assert (("admission-refused", "lab/train-0", [said]) in told(at_work(work))) is refused
    assert len(told(at_work(work))) == 1


def test_of_pods_that_were_not_read_the_last_event_of_a_refusal_is_quoted() -> None:
    document = at_work()
    del document["kubernetes"]["pods"]
    document["kubernetes"]["events"] = [
        event("Pod", "train-0", "UnexpectedAdmissionError", "first", 4, namespace="lab"),
        event("Pod", "train-0", "UnexpectedAdmissionError", "last", 5, namespace="lab"),
        event("Pod", "train-0", "Scheduled", "odd", 6, namespace="lab"),
    ]
    said = "lab/train-0: UnexpectedAdmissionError: last"
    assert told(document) == [("admission-refused", "lab/train-0", [said])]


def test_the_scheduler_has_a_minute_for_a_pod_beside_a_free_gpu() -> None:
    def waits(now: float, *events: Document) -> Document:
        document = at_work(now=now)
        without(document, "train-0")
        document["kubernetes"]["pods"].append(asking(minute=10))
        document["kubernetes"]["events"] = [*events]
        return document

    no_cpu = event("Pod", "more", "FailedScheduling", "0/3: 2 Insufficient cpu", namespace="lab")
    free = "lab/more has no node although a GPU is free: "
    assert under_way(waits(11)) == [("scheduling", "lab/more", "11:10:00")]
    late = 11 + SECOND
    assert told(waits(late)) == [("unknown", POOL, [f"{free}no reason is given"])]
    assert told(waits(late, no_cpu)) == [("unknown", POOL, [f"{free}0/3: 2 Insufficient cpu"])]
    unread = waits(late)
    del unread["kubernetes"]["events"]
    assert told(unread)[0][2] == [
        f"{free}no reason is given",
        "not read: kubernetes.events",
    ]
    taken = event("Pod", "more", "FailedScheduling", "Insufficient nvidia.com/gpu", namespace="lab")
    assert told(waits(late, taken)) == []
    assert told(waits(late, taken, no_cpu)) == [("unknown", POOL, [f"{free}0/3: 2 Insufficient cpu"])]


@pytest.mark.parametrize(
    ("units", "used", "asked", "said"),
    [
        ("4", 3, 1, ["lab/more has no node although a GPU is free: no reason is given"]),
        ("4", 3, 2, None),
        ("4", 0, 4, ["lab/more has no node although a GPU is free: no reason is given"]),
        ("4", 0, 5, ["lab/more requests 5 GPUs, and no node of the pool has more than 4"]),
    ],
)
def test_a_pod_waits_rightly_for_gpus_that_others_hold(
    units: str, used: int, asked: int, said: list[str] | None
) -> None:
    document = at_work()
    without(document, "train-0")
    document["expected"]["gpus_per_node"] = 4
    mine = node_of(document, 0)
    mine["metadata"]["labels"]["nvidia.com/gpu.count"] = "4"
    for which in ("allocatable", "capacity"):
        mine["status"][which]["nvidia.com/gpu"] = units
    for number in range(used):
        document["kubernetes"]["pods"].append(pod(f"holds-{number}", "lab", 0, gpus=1))
    ended = [pod(phase, "lab", 0, gpus=4, phase=phase) for phase in ("Succeeded", "Failed")]
    document["kubernetes"]["pods"] += [*ended, asking(asked)]
    document["kubernetes"]["pods"][-2]["metadata"]["creationTimestamp"] = at(-9)
    assert told(document) == ([] if said is None else [("unknown", POOL, said)])


def test_a_pod_that_waits_for_nodes_that_are_all_cordoned_is_told_so() -> None:
    def waits(now: float = 20, said: str = "") -> Document:
        document = at_work(now=now)
        without(document, "train-0")
        document["kubernetes"]["pods"].append(asking(1))
        node_of(document, 0)["spec"]["unschedulable"] = True
        if said:
            document["kubernetes"]["events"] = [
                event("Pod", "more", "FailedScheduling", said, 19, namespace="lab")
            ]
        return document

    closed = f"lab/more has no node, because {NODE} is cordoned"
    assert told(waits()) == [("unknown", POOL, [f"{closed}: no reason is given"])]
    said = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable."
    assert told(waits(said=said)) == [("unknown", POOL, [f"{closed}: {said}"])]
    assert told(waits(now=4)) == []
    closing = waits()
    closing["expected"]["nodes"] = 0
    assert told(closing) == []


@pytest.mark.parametrize(
    "held", [{"schedulingGates": [{"name": "queue"}]}, {"suspend": True}, {"nodeSelector": {"a": "b"}}]
)
def test_a_pod_that_is_held_back_on_purpose_is_left_alone(held: Document) -> None:
    document = at_work()
    without(document, "train-0")
    work = asking()
    work["spec"] |= held
    document["kubernetes"]["pods"].append(work)
    assert bool(told(document)) is ("nodeSelector" in held)


def test_a_pod_waits_for_gpus_that_are_missing_for_a_reason_that_is_known_or_under_way() -> None:
    missing = at_work(asking())
    no_gpus(missing)
    missing["kubernetes"]["pods"].append(asking())
    assert [cause for cause, _, _ in told(missing)] == ["gpu-count-short"]
    early = at_work(now=6)
    no_gpus(early)
    early["kubernetes"]["pods"].append(asking(9))
    assert under_way(early) == [("gpus-announced", NODE, "11:03:00")]


def test_a_taint_that_keeps_a_pod_off_every_node_is_named_with_the_scheduler_s_words() -> None:
    def kept_away(message: str, *, tainted: bool) -> Document:
        document = healthy()
        without(document, "train-waits")
        for number in range(2):
            if not tainted:
                node_of(document, number)["spec"]["taints"] = []
        work = pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False)
        work["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
        document["kubernetes"]["pods"].append(work)
        return document

    away = "lab/late has no toleration for the taint {nvidia.com/gpu: true}"
    assert told(kept_away("no", tainted=True)) == [("untolerated-taint", "lab/late", [away, "no"])]
    said = "2 node(s) had untolerated taint {nvidia.com/gpu: true}"
    assert told(kept_away(said, tainted=False)) == [("untolerated-taint", "lab/late", [away, said])]
    assert told(kept_away("untolerated taint {dedicated: x}", tainted=False)) == []
    one_open = kept_away(said, tainted=True)
    node_of(one_open, 1)["spec"]["taints"] = []
    assert told(one_open) == []


def test_without_a_node_the_taints_that_the_group_gives_its_nodes_keep_a_pod_away() -> None:
    document = healthy()
    document["kubernetes"] = {"pods": [pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False)]}
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}
    document["aws"]["nodegroup"]["taints"] = [taint]
    assert told(document)[0][:2] == ("untolerated-taint", "lab/late")
