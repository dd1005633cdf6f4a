"""Pods with little information, or without a node: their findings, and what is not guessed."""

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at_work,
    event,
    healthy,
    pod,
    replace,
    told,
    waiting,
    without,
)

REFUSED = event("Pod", "more", "UnexpectedAdmissionError", "no", namespace="lab")


def asking(gpus: int = 1, **status: str) -> Document:
    work = pod("more", "lab", None, gpus=gpus, phase="Pending")
    work["status"] = status
    return work


def beside(work: Document, *events: Document) -> Document:
    """This pod, beside a free GPU."""
    document = at_work()
    without(document, "train-0")
    document["kubernetes"]["pods"].append(work)
    document["kubernetes"]["events"] = [*events]
    return document


def test_a_pod_that_was_read_without_its_status_waits_like_any_other() -> None:
    free = ["lab/more has no node although a GPU is free: no reason is given"]
    assert told(beside(asking())) == [("unknown", POOL, free)]


def test_a_pod_that_the_kubelet_refused_is_not_also_said_to_wait() -> None:
    said = ["lab/more: UnexpectedAdmissionError: no"]
    assert told(beside(asking(), REFUSED)) == [("admission-refused", "lab/more", said)]


def test_the_kubelet_s_refusal_is_known_though_nobody_says_which_of_two_nodes_it_was() -> None:
    document = healthy()
    del document["kubernetes"]["pods"]
    document["kubernetes"]["events"] = [REFUSED]
    said = ["lab/more: UnexpectedAdmissionError: no"]
    assert told(document) == [("admission-refused", "lab/more", said)]


def test_a_pod_waits_rightly_where_no_single_node_has_as_many_gpus_left() -> None:
    document = healthy()
    without(document, "train")
    document["expected"]["gpus_per_node"] = 2
    for number, units in enumerate(("4", "2")):
        mine = node_of(document, number)
        mine["metadata"]["labels"]["nvidia.com/gpu.count"] = units
        for which in ("allocatable", "capacity"):
            mine["status"][which]["nvidia.com/gpu"] = units
    document["kubernetes"]["events"] = []
    document["kubernetes"]["pods"] += [pod("holds", "lab", 0, gpus=4), asking(3, phase="Pending")]
    assert told(document) == []
    replace(document, asking(2, phase="Pending"))
    assert [cause for cause, _, _ in told(document)] == ["unknown"]


def test_the_first_node_s_taint_is_named_where_each_node_has_its_own() -> None:
    document = healthy()
    without(document, "train-waits")
    for number, key in enumerate(("team", "class")):
        node_of(document, number)["spec"]["taints"] = [
            {"key": key, "value": f"{key}-a", "effect": "NoSchedule"}
        ]
    document["kubernetes"]["pods"].append(asking(phase="Pending"))
    said = ["lab/more has no toleration for the taint {team: team-a}"]
    assert told(document) == [("untolerated-taint", "lab/more", said)]


def test_each_pod_whose_image_cannot_be_pulled_is_named() -> None:
    document = healthy()
    for number in range(2):
        replace(document, waiting(pod(f"train-{number}", "lab", number, gpus=1), "ErrImagePull", "gone"))
    said = [f"lab/train-{number} main: ErrImagePull gone" for number in range(2)]
    assert told(document) == [("image-pull-failed", "lab/train-0, lab/train-1", said)]


def test_on_an_explained_node_nvidia_s_own_pods_add_nothing_though_they_ask_for_a_gpu() -> None:
    document = at_work()
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    node_of(document, 0)["status"]["conditions"].append(fault)
    validator = waiting(pod("nvidia-cuda-validator-0", gpus=1), "ErrImagePull", "gone")
    document["kubernetes"]["pods"].append(validator)
    assert [(cause, about) for cause, about, _ in told(document)] == [("xid", NODES[0])]
