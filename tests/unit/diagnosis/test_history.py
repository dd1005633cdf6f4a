"""When a pod's failure is history, and near misses."""

import pytest

from tests.snapshots import (
    Document,
    at_work,
    causes,
    event,
    healthy,
    pod,
    told,
    train,
    under_way,
    waiting,
    without,
)


@pytest.mark.parametrize("unknown", ["first", "next"])
def test_a_pod_that_does_the_work_is_the_later_one_where_nobody_says_which_is(unknown: str) -> None:
    document = healthy()
    without(document, "train")
    failed = pod("first", "lab", 0, gpus=1, phase="Failed", owner="ReplicaSet/a")
    failed["status"] |= {"reason": "UnexpectedAdmissionError", "message": "no"}
    pods = [failed, pod("next", "lab", 1, gpus=1, owner="ReplicaSet/a")]
    document["kubernetes"]["pods"] += pods
    for each in pods:
        if each["metadata"]["name"] == unknown:
            del each["metadata"]["creationTimestamp"]
    assert causes(document) == []


@pytest.mark.parametrize(("owner", "history"), [("Job/train", True), ("ReplicaSet/train", False)])
def test_a_job_that_is_done_says_nothing_of_others_that_are_called_like_it(
    owner: str, *, history: bool
) -> None:
    document = at_work(waiting(train(owner=owner), "ErrImagePull", "gone"))
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    document["kubernetes"]["jobs"] = [{"metadata": {"name": "train", "namespace": "lab"}, "status": complete}]
    assert causes(document) == ([] if history else ["image-pull-failed"])


def said(*events: tuple[str, str, float]) -> list[Document]:
    return [
        event("Pod", "train-0", reason, message, minute, namespace="lab")
        for reason, message, minute in events
    ]


def test_a_sandbox_that_could_not_be_made_once_more_is_over_once_it_stands_again() -> None:
    document = at_work(train(minute=19))
    document["kubernetes"]["events"] = said(
        ("Pulling", "Pulling image", 18),
        ("FailedCreatePodSandBox", 'no runtime for "nvidia" is configured', 18.5),
        ("Created", "Created container", 19),
    )
    assert causes(document) == []


def test_an_image_that_is_pulled_again_is_pulled_since_then() -> None:
    document = at_work(train(minute=2), now=9)
    document["kubernetes"]["events"] = said(
        ("Pulling", "Pulling image", 5), ("Failed", "Error", 6), ("Pulling", "Pulling image", 8)
    )
    assert under_way(document) == [("image-pull", "lab/train-0", "11:08:00")]


def test_a_figure_in_the_name_of_an_image_is_no_duration() -> None:
    document = at_work()
    document["kubernetes"]["events"] = said(
        ("Pulled", 'Successfully pulled image "lab/train:90m" in 3s (3s including waiting)', 10)
    )
    assert told(document) == []


def test_only_a_device_plugin_has_what_it_missed_before_it_registered() -> None:
    printed = "could not load NVML\nRegistered device plugin for 'x'"
    document = at_work(waiting(train(), "CrashLoopBackOff", "odd", restarts=1), train_0=printed)
    assert told(document) == [("runtime-missing", "lab/train-0", ["lab/train-0: could not load NVML"])]
