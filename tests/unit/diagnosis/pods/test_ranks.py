"""Which pods are ranks that could meet, and the evidence of each."""

import pytest

from tests.diagnosis_cases.aws import STORE, ranks
from tests.snapshots import Document, causes, healthy, pod, told, waiting, without

BLOCKED = ["nccl-path-blocked"]


def nccl(log: str = STORE, *, minute: float = 10, phase: str = "Running") -> Document:
    """Two ranks, one on each node, that printed this log."""
    document = healthy()
    ranks(document, log, minute=minute, phase=phase)
    return document


@pytest.mark.parametrize(
    ("phase", "minute", "blamed"),
    [("Running", 10, True), ("Succeeded", 10, False), ("Failed", 10, True), ("Failed", -10, False)],
)
def test_ranks_that_succeeded_in_the_end_or_failed_long_ago_are_not_judged(
    phase: str, minute: float, *, blamed: bool
) -> None:
    assert causes(nccl(phase=phase, minute=minute)) == (BLOCKED if blamed else [])


def test_what_nvidia_s_own_pods_with_a_gpu_print_is_no_rank_s_word() -> None:
    document = healthy()
    for number in range(2):
        name = f"nvidia-cuda-validator-{number}"
        document["kubernetes"]["pods"].append(pod(name, number=number, gpus=1))
        document["logs"][f"gpu-operator/{name}"] = STORE
    assert causes(document) == []


def test_ranks_of_which_nobody_says_when_they_were_made_are_judged_all_the_same() -> None:
    document = nccl()
    for each in document["kubernetes"]["pods"]:
        del each["metadata"]["creationTimestamp"]
    assert causes(document) == BLOCKED


def test_a_log_that_begins_with_an_empty_line_is_read_like_any_other() -> None:
    said = [f"lab/nccl-{number}: {STORE}" for number in range(2)]
    assert told(nccl(f"\n{STORE}\nlast")) == [("nccl-path-blocked", "lab/Job/nccl", said)]


def alone(beside: Document, *jobs: Document) -> Document:
    """A rank without a job that met no other rank, and another pod on the other node."""
    document = healthy()
    without(document, "train")
    document["kubernetes"]["pods"] += [pod("rank-0", "lab", 0, gpus=1, minute=10), beside]
    document["kubernetes"]["jobs"] = [*jobs]
    document["logs"]["lab/rank-0"] = STORE
    return document


def test_a_rank_does_not_wait_for_one_that_runs_or_whose_job_is_done() -> None:
    beside = pod("rank-1", "lab", 1, gpus=1, minute=10, owner="Job/rank")
    pulling = waiting(beside, "ErrImagePull", "gone")
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    done = {"metadata": {"name": "rank", "namespace": "lab"}, "status": complete}
    assert causes(alone(beside)) == BLOCKED
    assert causes(alone(pulling)) == ["image-pull-failed"]
    assert causes(alone(pulling, done)) == BLOCKED
