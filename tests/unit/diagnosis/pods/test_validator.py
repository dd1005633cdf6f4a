"""The validator and the texts of NVIDIA's pods: the normal time of a validation, and which text explains a node."""

from typing import Any

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    event,
    healthy,
    no_gpus,
    pod,
    policy,
    replace,
    told,
    under_way,
    waiting,
    without,
)

SECOND = 1 / 60

NODE = NODES[0]

VALIDATOR = "nvidia-operator-validator-0"

CALLED = f"gpu-operator/{VALIDATOR}"

PLUGIN = "nvidia-device-plugin-daemonset-0"


def one(now: float = 20) -> Document:
    document = healthy(nodes=1, now=now)
    without(document, "train-waits")
    document["kubernetes"]["events"] = []
    return document


def test_a_validator_may_take_five_minutes_and_three_crashes_are_enough() -> None:
    def validating(now: float, reason: str = "PodInitializing", restarts: int = 0) -> Document:
        document = one(now)
        stuck = waiting(pod(VALIDATOR, minute=4), reason, "odd", restarts=restarts, init="cuda-validation")
        replace(document, stuck)
        document["logs"][CALLED] = "first\nlast\n"
        return document

    waits = f"{CALLED}: container cuda-validation: PodInitializing odd, 0 restarts"
    assert under_way(validating(9)) == [("validation", NODE, "11:04:00")]
    assert told(validating(9 + SECOND)) == [("validator-stuck", NODE, [waits, "last"])]
    assert under_way(validating(9, "CrashLoopBackOff", 2)) == [("validation", NODE, "11:04:00")]
    assert told(validating(9, "CrashLoopBackOff", 3)) == [
        ("validator-stuck", NODE, [f"{CALLED}: container cuda-validation: odd, 3 restarts", "last"])
    ]


def test_a_validator_of_which_little_is_known_is_told_by_that() -> None:
    def validating(**status: Any) -> Document:
        document = one()
        stuck = pod(VALIDATOR, phase="Pending")
        stuck["status"] |= {"containerStatuses": [], **status}
        replace(document, stuck)
        return document

    assert told(validating()) == [("validator-stuck", NODE, [f"{CALLED} is Pending"])]
    runs = [{"name": "driver-validation", "state": {"running": {}}}, {"name": "x", "state": {}}]
    assert told(validating(initContainerStatuses=runs)) == [
        (
            "validator-stuck",
            NODE,
            [f"{CALLED}: container driver-validation: runs and does not end, 0 restarts"],
        )
    ]


def test_a_validator_whose_image_cannot_be_pulled_is_no_stuck_one() -> None:
    document = one()
    replace(document, waiting(pod(VALIDATOR), "ErrImagePull", "gone"))
    assert told(document) == [("image-pull-failed", CALLED, [f"{CALLED} main: ErrImagePull gone"])]


def test_a_validator_that_says_why_explains_its_node() -> None:
    document = one()
    replace(document, waiting(pod(VALIDATOR), "CrashLoopBackOff", "odd", restarts=5))
    document["logs"][CALLED] = "driver/library version mismatch"
    document["logs"]["lab/train-0"] = "driver/library version mismatch"
    said = [f"{CALLED}: driver/library version mismatch"]
    assert told(document) == [("driver-mismatch", NODE, said)]


def test_a_plugin_that_crashes_while_its_node_still_offers_all_is_said() -> None:
    def crashing(*, ready: bool, log: str = "") -> Document:
        document = one()
        replace(document, waiting(pod(PLUGIN), "CrashLoopBackOff", "back-off", restarts=1))
        document["logs"][f"gpu-operator/{PLUGIN}"] = log
        if not ready:
            node_of(document, 0)["status"]["conditions"][0]["status"] = "False"
        return document

    line = f"gpu-operator/{PLUGIN}: container main: back-off"
    assert told(crashing(ready=True)) == [("device-plugin-missing", NODE, [line])]
    assert [cause for cause, _, _ in told(crashing(ready=False))] == ["node-not-ready"]
    said = f"gpu-operator/{PLUGIN}: driver/library version mismatch"
    assert told(crashing(ready=True, log="driver/library version mismatch")) == [
        ("driver-mismatch", NODE, [said])
    ]


@pytest.mark.parametrize(
    ("ami", "image", "driver", "wrong"),
    [
        ("AL2023_x86_64_NVIDIA", "Amazon Linux", False, None),
        ("AL2_x86_64_GPU", "Amazon Linux", False, None),
        ("CUSTOM", "Amazon Linux", False, None),
        ("AL2023_x86_64_STANDARD", "Amazon Linux", False, "amiType is AL2023_x86_64_STANDARD"),
        ("AL2023_x86_64_STANDARD", "Amazon Linux", True, None),
        ("", "Bottlerocket OS 1.50 (aws-k8s-1.35)", False, "osImage is Bottlerocket OS 1.50 (aws-k8s-1.35)"),
        ("", "Windows Server 2022", False, "osImage is Windows Server 2022"),
        ("", "Amazon Linux", False, None),
    ],
)
def test_an_image_without_a_driver_is_told_by_its_type_or_its_system(
    ami: str, image: str, wrong: str | None, *, driver: bool
) -> None:
    document = one()
    no_gpus(document)
    document["aws"]["nodegroup"]["amiType"] = ami
    node_of(document, 0)["status"]["nodeInfo"]["osImage"] = image
    document["kubernetes"]["clusterpolicies"] = [policy(driver={"enabled": driver})]
    found = [("wrong-ami", POOL, [wrong, f"{NODE} is Ready and offers no nvidia.com/gpu"])]
    short = [("gpu-count-short", NODE, [f"{NODE} offers 0 of its 1 GPUs"])]
    assert told(document) == (found if wrong else short)


def test_of_what_several_pods_say_the_most_fundamental_explains_the_node() -> None:
    document = one()
    no_gpus(document)
    texts = {
        "nvidia-operator-validator-0": "unsatisfied condition: cuda",
        "gpu-feature-discovery-0": "nvml error: driver not loaded",
        "nvidia-dcgm-0": "nvml error: driver not loaded",
    }
    document["kubernetes"]["pods"].append(pod("nvidia-dcgm-0"))
    document["logs"] = {f"gpu-operator/{name}": text for name, text in texts.items()}
    said = "nvml error: driver not loaded"
    assert told(document) == [
        (
            "driver-broken",
            NODE,
            [f"gpu-operator/gpu-feature-discovery-0: {said}", f"gpu-operator/nvidia-dcgm-0: {said}"],
        )
    ]


@pytest.mark.parametrize(
    ("name", "messages", "said"),
    [
        (
            "nvidia-dcgm",
            ["odd", 'RuntimeClass "nvidia" not found'],
            ['DaemonSet nvidia-dcgm: RuntimeClass "nvidia" not found'],
        ),
        ("nvidia-dcgm", ['RuntimeClass "nvidia" not found', "odd"], None),
        ("web", ['RuntimeClass "nvidia" not found'], None),
    ],
)
def test_a_runtime_class_is_missing_by_the_last_word_of_nvidia_s_daemonsets(
    name: str, messages: list[str], said: list[str] | None
) -> None:
    document = one()
    no_gpus(document)
    document["kubernetes"]["events"] = [
        event("DaemonSet", name, "FailedCreate", message, number)
        for number, message in enumerate(messages, 5)
    ]
    found = [evidence for cause, _, evidence in told(document) if cause == "runtime-missing"]
    assert found == ([said] if said else [])


@pytest.mark.parametrize("name", [PLUGIN, VALIDATOR])
def test_what_crashes_on_a_node_whose_gpu_is_dead_adds_nothing(name: str) -> None:
    document = one()
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
    node_of(document, 0)["status"]["conditions"].append(fault)
    replace(document, waiting(pod(name), "CrashLoopBackOff", "back-off", restarts=9))
    assert [cause for cause, _, _ in told(document)] == ["xid"]
