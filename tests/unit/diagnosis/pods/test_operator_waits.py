"""The GPU Operator beside other problems: what is found once, what another finding explains, and the order."""

import pytest

from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    daemonset,
    judge,
    node,
    pod,
    policy,
    replace,
    told,
    waiting,
    without_plugin,
)

NODE = NODES[0]

LATE = [policy("notReady", minute=5)]


def deployment(name: str, minute: float) -> Document:
    return {
        "metadata": {"name": name, "namespace": "gpu-operator", "creationTimestamp": at(minute)},
        "spec": {"replicas": 1},
        "status": {},
    }


def crashes(name: str, *containers: str) -> Document:
    document = waiting(pod(name, number=None), "CrashLoopBackOff", "back-off", restarts=9)
    status = document["status"]["containerStatuses"][0]
    document["status"]["containerStatuses"] = [{**status, "name": each} for each in containers or ("main",)]
    return document


def seen(document: Document) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    found = judge(document)
    return (
        [(each.cause.name, str(each.about)) for each in found.findings],
        [(each.stage.label, each.about) for each in found.in_progress],
    )


def test_a_deployment_that_is_young_hides_none_that_is_down() -> None:
    document = at_work()
    master = "node-feature-discovery-master"
    document["kubernetes"]["deployments"] = [deployment("gpu-operator", 16), deployment(master, -90)]
    assert seen(document) == ([("operator-not-ready", master)], [("operator", "gpu-operator")])


def test_an_operator_that_is_young_is_under_way_once_though_a_node_waits_for_it() -> None:
    document = without_plugin()
    document["kubernetes"]["daemonsets"] = []
    document["kubernetes"]["deployments"] = [deployment("gpu-operator", 16)]
    assert seen(document) == ([("device-plugin-missing", NODE)], [("operator", "gpu-operator")])


def test_a_policy_that_is_young_is_under_way_once_though_a_node_waits_for_it() -> None:
    document = without_plugin()
    document["kubernetes"]["daemonsets"] = []
    document["kubernetes"]["clusterpolicies"] = [policy("notReady", reason="ReconcileFailed", minute=16)]
    assert seen(document) == ([("device-plugin-missing", NODE)], [("operator", "cluster-policy")])


def test_of_two_pods_of_the_operator_that_crash_both_speak_and_the_first_is_named() -> None:
    document = at_work()
    del document["kubernetes"]["deployments"]
    document["kubernetes"]["pods"] += [crashes("gpu-operator-1"), crashes("gpu-operator-2")]
    said = [f"gpu-operator/gpu-operator-{number}: container main: back-off" for number in (1, 2)]
    assert told(document) == [("operator-not-ready", "gpu-operator/gpu-operator-1", said)]


@pytest.mark.parametrize("stage", ["node-ready", "gpus-announced", "validation"])
def test_a_policy_is_not_blamed_while_a_node_settles(stage: str) -> None:
    document = at_work()
    document["kubernetes"]["clusterpolicies"] = LATE
    if stage == "node-ready":
        document["kubernetes"]["nodes"][1] = node(0, ready=False, minute=18)
    elif stage == "gpus-announced":
        document = without_plugin()
        document["kubernetes"]["clusterpolicies"] = LATE
        conditions(document, 0)[0]["lastTransitionTime"] = at(18)
    else:
        young = pod("nvidia-operator-validator-0", minute=18)
        replace(document, waiting(young, "PodInitializing", init="cuda-validation"))
    assert seen(document) == ([], [(stage, NODE)])


def test_a_policy_is_not_blamed_beside_what_cannot_be_told() -> None:
    document = at_work()
    document["kubernetes"]["clusterpolicies"] = LATE
    fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaFabricError"}
    conditions(document, 0).append(fault)
    assert seen(document) == ([("unknown", POOL)], [])


@pytest.mark.parametrize(
    ("counts", "waits"),
    [
        ([(1, 0)], True),
        ([(1, None)], True),
        ([(0, 0)], False),
        ([(None, None)], False),
        ([(0, 0), (1, 0)], True),
        ([(1, 1), (2, 2)], False),
    ],
)
def test_an_operand_that_wants_pods_elsewhere_keeps_the_policy_waiting(
    counts: list[tuple[int | None, int | None]], *, waits: bool
) -> None:
    document = at_work()
    document["kubernetes"]["clusterpolicies"] = [policy("notReady", reason="OperandNotReady", message="x")]
    document["kubernetes"]["daemonsets"] = [
        daemonset(f"nvidia-dcgm-{number}") for number in range(len(counts))
    ]
    for found, (desired, ready) in zip(document["kubernetes"]["daemonsets"], counts, strict=True):
        found["status"] = {"desiredNumberScheduled": desired, "numberReady": ready}
    assert seen(document)[0] == ([] if waits else [("operator-not-ready", "cluster-policy")])


def test_a_driver_that_is_missing_on_a_plain_image_names_the_image_and_whoever_misses_it() -> None:
    document = at_work()
    document["aws"]["nodegroup"]["amiType"] = "AL2023_x86_64_STANDARD"
    node_of(document, 0)["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    document["logs"]["gpu-operator/gpu-feature-discovery-0"] = "could not load NVML library"
    said = "gpu-operator/gpu-feature-discovery-0: could not load NVML library"
    assert ("wrong-ami", POOL, [said, "amiType is AL2023_x86_64_STANDARD"]) in told(document)
