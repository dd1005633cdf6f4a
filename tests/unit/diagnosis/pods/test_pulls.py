"""Pods that start: images, finished jobs, and failures that became history."""

import pytest

from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    event,
    healthy,
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


def test_a_container_whose_image_is_there_may_take_two_minutes_to_start() -> None:
    def starting(now: float, *events: Document, message: str = "") -> Document:
        work = train(minute=2)
        work["status"]["containerStatuses"] = []
        work["status"]["message"] = message
        document = at_work(work, now=now)
        document["kubernetes"]["events"] = [*events]
        return document

    pulled = event("Pod", "train-0", "Pulled", "Successfully pulled", 6, namespace="lab")
    created = event("Pod", "train-0", "Created", "Created it", 3, namespace="lab")
    stands = f"lab/train-0 on {NODE} does not start: "
    assert under_way(starting(4)) == [("container-start", "lab/train-0", "11:02:00")]
    assert under_way(starting(8, pulled)) == [("container-start", "lab/train-0", "11:06:00")]
    late = 4 + SECOND
    assert told(starting(late)) == [("unknown", POOL, [f"{stands}no reason is given"])]
    assert told(starting(late, message="odd")) == [("unknown", POOL, [f"{stands}odd"])]
    assert told(starting(late, created)) == [("unknown", POOL, [f"{stands}Created: Created it"])]
    assert told(starting(8 + SECOND, created, pulled)) == [
        ("unknown", POOL, [f"{stands}Pulled: Successfully pulled"])
    ]
    unread = starting(late)
    del unread["kubernetes"]["events"]
    assert told(unread)[0][2] == [f"{stands}no reason is given", "not read: kubernetes.events"]
    waits = at_work(waiting(train(minute=2), "ContainerCreating", "odd"), now=late)
    assert told(waits) == [("unknown", POOL, [f"{stands}ContainerCreating odd"])]


def test_an_image_may_be_pulled_for_two_minutes() -> None:
    def pulling(now: float, *later: Document) -> Document:
        document = at_work(train(minute=2), now=now)
        said = event("Pod", "train-0", "Pulling", "Pulling image", 5, namespace="lab")
        document["kubernetes"]["events"] = [said, *later]
        return document

    assert under_way(pulling(7)) == [("image-pull", "lab/train-0", "11:05:00")]
    slow = ["lab/train-0 has been pulling an image for 121 s"]
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
        ("0.03334h", True),
        ("0.03333h", False),
        ("120000000us", True),
        ("120000000µs", True),
        ("119999999us", False),
        ("119999999µs", False),
        ("1.2.3h", False),
    ],
)
def test_a_pull_of_two_minutes_is_slow_in_every_unit(took: str, *, slow: bool) -> None:
    document = at_work()
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
    document = at_work(work)
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
    document = at_work(waiting(train(owner="Job/train"), "ErrImagePull", "gone"))
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
    assert (told(at_work(work)) == []) is history


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
    document = at_work(waiting(train(), "CrashLoopBackOff", "back-off", restarts=1))
    document["logs_previous"] = {"lab/train-0": TOO_OLD}
    assert told(document) == [("driver-too-old", "lab/train-0", [f"lab/train-0: {TOO_OLD}"])]
    well = at_work()
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
    document = at_work(work)
    said = {"FailedCreatePodSandBox": 'no runtime for "nvidia" is configured'}
    document["kubernetes"]["events"] = [
        event("Pod", "train-0", reason, said.get(reason, "x"), 18 + number / 10, namespace="lab")
        for number, reason in enumerate(reasons)
    ]
    assert ([cause for cause, _, _ in told(document)] == []) is over
