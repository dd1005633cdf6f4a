"""Pods that do not do their work, in full: their own cause, the scheduler's, or how long they may take yet."""

from typing import Any

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    event,
    healthy,
    judge,
    no_gpus,
    node,
    pod,
    replace,
    waiting,
    without,
)

SECOND = 1 / 60
NODE = NODES[0]
TOO_OLD = "unsatisfied condition: cuda>=13.0, please update your driver"
MISMATCH = "driver/library version mismatch"


def told(document: Document) -> list[tuple[str, str, list[str]]]:
    return [(each.cause.name, each.about, list(each.evidence)) for each in judge(document).findings]


def under_way(document: Document) -> list[tuple[str, str, str]]:
    found = judge(document)
    assert found.findings == ()
    return [(each.stage.label, each.about, each.since.strftime("%H:%M:%S")) for each in found.in_progress]


def one(work: Document | None = None, now: float = 20, **logs: str) -> Document:
    """A healthy pool of one node; `work` takes the place of its pod lab/train-0."""
    document = healthy(nodes=1, now=now)
    without(document, "train-waits")
    document["kubernetes"]["events"] = []
    if work is not None:
        replace(document, work)
    document["logs"] = {f"lab/{name.replace('_', '-')}": text for name, text in logs.items()}
    return document


def train(phase: str = "Pending", number: int | None = 0, **more: Any) -> Document:
    return pod("train-0", "lab", number, gpus=1, phase=phase, **more)


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
    assert told(one(train_0=said)) == ([] if cause is None else [(cause, "lab/train-0", line)])
    ended = one(train("Succeeded"), train_0=said)
    assert told(ended) == []


def test_a_pod_that_runs_on_an_explained_node_adds_nothing() -> None:
    document = one(train_0=MISMATCH)
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
    document = one(waiting(train(), reason, message))
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    node_of(document, 0)["status"]["conditions"].append(fault)
    assert [each for each in told(document) if each[0] != "xid"] == ([] if finding is None else [finding])


def test_on_a_node_that_is_not_ready_nothing_is_said_of_its_pods() -> None:
    document = one(waiting(train(), "ErrImagePull", "gone"))
    document["kubernetes"]["nodes"][1] = node(0, 1, ready=False)
    assert [cause for cause, _, _ in told(document)] == ["node-not-ready"]


def test_a_library_that_is_missing_is_the_image_s_fault_where_that_has_no_driver() -> None:
    document = one(waiting(train(), "CreateContainerError", "could not load NVML"))
    said = ["lab/train-0: could not load NVML"]
    assert told(document) == [("runtime-missing", "lab/train-0", said)]
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
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
    assert told(one(work)) == ([("admission-refused", "lab/train-0", [said])] if refused else [])


def test_of_pods_that_were_not_read_the_last_event_of_a_refusal_is_quoted() -> None:
    document = one()
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
        document = one(now=now)
        without(document, "train-0")
        document["kubernetes"]["pods"].append(asking(minute=10))
        document["kubernetes"]["events"] = [*events]
        return document

    no_cpu = event("Pod", "more", "FailedScheduling", "0/3: 2 Insufficient cpu", namespace="lab")
    free = "lab/more has no node though a GPU is free: "
    assert under_way(waits(11)) == [("scheduling", "lab/more", "11:10:00")]
    late = 11 + SECOND
    assert told(waits(late)) == [("unknown", POOL, [f"{free}the scheduler says nothing of it"])]
    assert told(waits(late, no_cpu)) == [("unknown", POOL, [f"{free}0/3: 2 Insufficient cpu"])]
    unread = waits(late)
    del unread["kubernetes"]["events"]
    assert told(unread)[0][2] == [
        f"{free}the scheduler says nothing of it",
        "kubernetes.events not read",
    ]
    taken = event("Pod", "more", "FailedScheduling", "Insufficient nvidia.com/gpu", namespace="lab")
    assert told(waits(late, taken)) == []
    assert told(waits(late, taken, no_cpu)) == [("unknown", POOL, [f"{free}0/3: 2 Insufficient cpu"])]


@pytest.mark.parametrize(
    ("units", "used", "asked", "said"),
    [
        ("4", 3, 1, ["lab/more has no node though a GPU is free: the scheduler says nothing of it"]),
        ("4", 3, 2, None),
        ("4", 0, 4, ["lab/more has no node though a GPU is free: the scheduler says nothing of it"]),
        ("4", 0, 5, ["lab/more asks for 5 GPUs, and no node of the pool has more than 4"]),
    ],
)
def test_a_pod_waits_rightly_for_gpus_that_others_hold(
    units: str, used: int, asked: int, said: list[str] | None
) -> None:
    document = one()
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


@pytest.mark.parametrize("closed", [{"unschedulable": True}, None])
def test_where_no_node_takes_pods_a_pod_waits_rightly(closed: Document | None) -> None:
    document = one()
    without(document, "train-0")
    document["kubernetes"]["pods"].append(asking(9))
    assert len(told(document)) == 1
    if closed:
        node_of(document, 0)["spec"] |= closed
        assert told(document) == []


@pytest.mark.parametrize(
    "held", [{"schedulingGates": [{"name": "queue"}]}, {"suspend": True}, {"nodeSelector": {"a": "b"}}]
)
def test_a_pod_that_is_held_back_on_purpose_is_left_alone(held: Document) -> None:
    document = one()
    without(document, "train-0")
    work = asking()
    work["spec"] |= held
    document["kubernetes"]["pods"].append(work)
    assert bool(told(document)) is ("nodeSelector" in held)


def test_a_pod_waits_for_gpus_that_are_missing_for_a_reason_that_is_known_or_under_way() -> None:
    missing = one(asking())
    no_gpus(missing)
    missing["kubernetes"]["pods"].append(asking())
    assert [cause for cause, _, _ in told(missing)] == ["gpu-count-short"]
    early = one(now=6)
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


def test_a_container_whose_image_is_there_may_take_two_minutes_to_start() -> None:
    def starting(now: float, *events: Document, message: str = "") -> Document:
        work = train(minute=2)
        work["status"]["containerStatuses"] = []
        work["status"]["message"] = message
        document = one(work, now=now)
        document["kubernetes"]["events"] = [*events]
        return document

    pulled = event("Pod", "train-0", "Pulled", "Successfully pulled", 6, namespace="lab")
    created = event("Pod", "train-0", "Created", "Created it", 3, namespace="lab")
    stands = f"lab/train-0 on {NODE} does not start: "
    assert under_way(starting(4)) == [("container-start", "lab/train-0", "11:02:00")]
    assert under_way(starting(8, pulled)) == [("container-start", "lab/train-0", "11:06:00")]
    late = 4 + SECOND
    assert told(starting(late)) == [("unknown", POOL, [f"{stands}nothing is said of it"])]
    assert told(starting(late, message="odd")) == [("unknown", POOL, [f"{stands}odd"])]
    assert told(starting(late, created)) == [("unknown", POOL, [f"{stands}Created: Created it"])]
    assert told(starting(8 + SECOND, created, pulled)) == [
        ("unknown", POOL, [f"{stands}Pulled: Successfully pulled"])
    ]
    unread = starting(late)
    del unread["kubernetes"]["events"]
    assert told(unread)[0][2] == [f"{stands}nothing is said of it", "kubernetes.events not read"]
    waits = one(waiting(train(minute=2), "ContainerCreating", "odd"), now=late)
    assert told(waits) == [("unknown", POOL, [f"{stands}ContainerCreating odd"])]


def test_an_image_may_be_pulled_for_two_minutes() -> None:
    def pulling(now: float, *later: Document) -> Document:
        document = one(train(minute=2), now=now)
        said = event("Pod", "train-0", "Pulling", "Pulling image", 5, namespace="lab")
        document["kubernetes"]["events"] = [said, *later]
        return document

    assert under_way(pulling(7)) == [("image-pull", "lab/train-0", "11:05:00")]
    slow = ["lab/train-0 has been pulling for 121 s"]
    assert told(pulling(7 + SECOND)) == [("image-pull-slow", "lab/train-0", slow)]
    failed = event("Pod", "train-0", "Failed", "Error", 6, namespace="lab")
    assert under_way(pulling(4, failed)) == [("container-start", "lab/train-0", "11:02:00")]


@pytest.mark.parametrize(
    ("took", "slow"),
    [
        ("120s", True),
        ("119.999s", False),
        ("2m", True),
        ("1m59s999ms", False),
        ("1m59s1000ms", True),
        ("1h", True),
        ("120000000us", True),
        ("120000000µs", True),
        ("119999999us", False),
        ("1.2.3h", False),
    ],
)
def test_a_pull_of_two_minutes_is_slow_in_every_unit(took: str, *, slow: bool) -> None:
    document = one()
    said = f'Successfully pulled image "x" in {took} ({took} including waiting)'
    document["kubernetes"]["events"] = [event("Pod", "train-0", "Pulled", said, namespace="lab")]
    assert told(document) == ([("image-pull-slow", "lab/train-0", [f"lab/train-0: {said}"])] if slow else [])
    document["kubernetes"]["events"][0]["reason"] = "Odd"
    assert told(document) == []


@pytest.mark.parametrize(
    ("events", "failed"),
    [
        ([("Failed", "Failed to pull image x")], "Failed: Failed to pull image x"),
        ([("Failed", "Failed to pull image x"), ("BackOff", "Back-off pulling image x")], None),
        ([("Failed", "Failed to pull image x"), ("Pulled", "pulled")], ""),
        ([("Failed", "Failed to pull image x"), ("Started", "started")], ""),
        ([("Failed", "Error: odd")], ""),
    ],
)
def test_where_no_container_is_known_the_last_event_says_whether_its_image_came(
    events: list[tuple[str, str]], failed: str | None
) -> None:
    work = train(minute=19)
    work["status"]["containerStatuses"] = []
    document = one(work)
    document["kubernetes"]["events"] = [
        event("Pod", "train-0", reason, message, 19 + number / 10, namespace="lab")
        for number, (reason, message) in enumerate(events)
    ]
    said = "BackOff: Back-off pulling image x" if failed is None else failed
    assert told(document) == (
        [("image-pull-failed", "lab/train-0", [f"lab/train-0: {said}"])] if said else []
    )


@pytest.mark.parametrize(
    ("completions", "succeeded", "complete", "history"),
    [
        (2, 2, "False", True),
        (2, 1, "False", False),
        (None, 1, "False", True),
        (None, 0, "False", False),
        (2, 0, "True", True),
        (2, None, "False", False),
    ],
)
def test_a_job_that_is_done_makes_its_failed_pods_history(
    completions: int | None, succeeded: int | None, complete: str, *, history: bool
) -> None:
    document = one(waiting(train(owner="Job/train"), "ErrImagePull", "gone"))
    job = {
        "metadata": {"name": "train", "namespace": "lab"},
        "spec": {"completions": completions},
        "status": {"succeeded": succeeded, "conditions": [{"type": "Complete", "status": complete}]},
    }
    document["kubernetes"]["jobs"] = [job]
    assert ([cause for cause, _, _ in told(document)] == []) is history
    without_namespace = {**job, "metadata": {"name": "train"}}
    document["kubernetes"]["jobs"] = [without_namespace]
    assert ([cause for cause, _, _ in told(document)] == []) is history


@pytest.mark.parametrize(
    ("ended", "minute", "history"), [(-1, 3, True), (0, -3, False), (None, -1, True), (None, 0, False)]
)
def test_a_pod_that_failed_before_the_expectation_began_is_history(
    ended: float | None, minute: float, *, history: bool
) -> None:
    work = train("Failed", minute=minute)
    work["status"] |= {"reason": "UnexpectedAdmissionError", "message": "no"}
    state = {"terminated": {"exitCode": 1, **({} if ended is None else {"finishedAt": at(ended)})}}
    work["status"]["containerStatuses"][0]["state"] = state
    assert (told(one(work)) == []) is history


@pytest.mark.parametrize(
    ("namespace", "owner", "number", "minute", "phase", "history"),
    [
        ("lab", "ReplicaSet/a", 1, 3, "Running", True),
        ("lab", "ReplicaSet/a", 1, 4, "Running", True),
        ("lab", "ReplicaSet/a", 1, 2, "Running", False),
        ("lab", "ReplicaSet/a", 1, 4, "Pending", False),
        ("lab", "ReplicaSet/b", 1, 4, "Running", False),
        ("other", "ReplicaSet/a", 1, 4, "Running", False),
        ("lab", "", 1, 4, "Running", False),
    ],
)
def test_a_pod_that_failed_is_history_once_another_of_its_owner_does_the_work(
    namespace: str, owner: str, number: int, minute: float, phase: str, *, history: bool
) -> None:
    document = healthy()
    without(document, "train")
    failed = pod("first", "lab", 0, gpus=1, phase="Failed", owner=owner and "ReplicaSet/a")
    failed["status"] |= {"reason": "UnexpectedAdmissionError", "message": "no"}
    other = pod("next", namespace, number, gpus=1, phase=phase, minute=minute, owner=owner)
    document["kubernetes"]["pods"] += [failed, other]
    assert ("admission-refused" not in [cause for cause, _, _ in told(document)]) is history


def test_what_a_pod_printed_before_it_was_restarted_counts_while_it_is_not_well() -> None:
    document = one(waiting(train(), "CrashLoopBackOff", "back-off", restarts=1))
    document["logs_previous"] = {"lab/train-0": TOO_OLD}
    assert told(document) == [("driver-too-old", "lab/train-0", [f"lab/train-0: {TOO_OLD}"])]
    well = one()
    well["logs_previous"] = {"lab/train-0": MISMATCH}
    assert told(well) == []


@pytest.mark.parametrize(
    ("reasons", "over"),
    [
        (["FailedCreatePodSandBox"], False),
        (["FailedCreatePodSandBox", "Pulling"], True),
        (["Pulling", "FailedCreatePodSandBox"], False),
        (["FailedCreatePodSandBox", "Created", "FailedCreatePodSandBox"], False),
        (["FailedCreatePodSandBox", "Scheduled"], False),
    ],
)
def test_a_sandbox_that_could_not_be_made_is_over_once_it_stands(reasons: list[str], *, over: bool) -> None:
    work = train(minute=19)
    document = one(work)
    said = {"FailedCreatePodSandBox": 'no runtime for "nvidia" is configured'}
    document["kubernetes"]["events"] = [
        event("Pod", "train-0", reason, said.get(reason, "x"), 18 + number / 10, namespace="lab")
        for number, reason in enumerate(reasons)
    ]
    assert ([cause for cause, _, _ in told(document)] == []) is over
