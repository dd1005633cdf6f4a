"""Diagnosis, the Kubernetes layer: nodes that are not Ready, taints, images, admission, pods that wait."""

import pytest

from lamplighter.reasons.reason import reason
from tests.snapshots import (
    NODES,
    TAINT,
    Document,
    causes,
    daemonset,
    event,
    healthy,
    judge,
    no_gpus,
    node,
    pod,
    policy,
    replace,
    stages,
    waiting,
    without,
)


def test_a_node_whose_network_does_not_start_is_not_ready() -> None:
    document = healthy()
    document["kubernetes"]["nodes"][1] = node(0, None, ready=False)
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["node-not-ready"]
    assert "cni plugin not initialized" in str(found.findings[0].evidence[0])


def test_a_young_node_is_in_progress() -> None:
    document = healthy()
    document["kubernetes"]["nodes"][1] = node(0, None, ready=False, minute=18)
    assert (causes(document), stages(document)) == ([], ["node-ready"])


def test_a_taint_that_the_device_plugin_does_not_tolerate() -> None:
    document = healthy()
    for number in range(2):
        no_gpus(document, number)
    without(document, "nvidia-device", "nvidia-operator", "gpu-feature")
    document["kubernetes"]["daemonsets"] = [daemonset(desired=0, tolerates=False)]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["untolerated-taint"]
    assert found.findings[0].about == "gpu-operator/nvidia-device-plugin-daemonset"
    assert reason("finding.evidence.policy-ready") in found.findings[0].evidence


def test_the_same_without_the_template_of_the_daemonset() -> None:
    document = healthy(nodes=1)
    no_gpus(document)
    without(document, "nvidia-device", "nvidia-operator", "gpu-feature")
    document["kubernetes"]["daemonsets"] = [
        {"metadata": {"name": "nvidia-device-plugin-daemonset"}, "status": {"desiredNumberScheduled": 0}}
    ]
    assert causes(document) == ["untolerated-taint"]


def test_a_pod_that_does_not_tolerate_the_pool_s_taint() -> None:
    document = healthy()
    message = (
        "0/3 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: true}, "
        "1 Insufficient nvidia.com/gpu."
    )
    replace(document, pod("train-waits", "lab", None, gpus=1, phase="Pending", tolerates=False))
    document["kubernetes"]["events"] = [
        event("Pod", "train-waits", "FailedScheduling", message, namespace="lab")
    ]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["untolerated-taint"]
    assert found.findings[0].about == "lab/train-waits"


def test_a_taint_on_other_nodes_only_is_none() -> None:
    document = healthy()
    document["kubernetes"]["events"][0]["message"] = (
        "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: infra}, 2 Insufficient nvidia.com/gpu."
    )
    assert causes(document) == []


def test_all_gpus_in_use_is_no_finding() -> None:
    document = healthy()
    document["kubernetes"]["pods"].append(pod("another", "lab", None, gpus=1, phase="Pending"))
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_a_pod_that_finds_no_node_beside_a_free_gpu_is_unknown_after_a_while() -> None:
    document = healthy()
    without(document, "train-0")
    document["kubernetes"]["events"][0]["message"] = "0/3 nodes are available: 2 Insufficient cpu."
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "Insufficient cpu" in str(found.findings[0].evidence[0])
    replace(document, pod("train-waits", "lab", None, gpus=1, phase="Pending", minute=19.5))
    assert (causes(document), stages(document)) == ([], ["scheduling"])


def test_an_image_that_cannot_be_pulled_explains_the_missing_plugin() -> None:
    document = healthy(nodes=1)
    no_gpus(document)
    plugin = pod("nvidia-device-plugin-daemonset-0")
    replace(
        document,
        waiting(plugin, "ImagePullBackOff", 'Back-off pulling image "nvcr.io/nvidia/k8s-device-plugin:v0"'),
    )
    assert causes(document) == ["image-pull-failed"]


def test_an_image_that_came_in_the_end_is_history() -> None:
    document = healthy()
    document["kubernetes"]["events"] += [
        event("Pod", "train-0", "Failed", "Failed to pull image: toomanyrequests", 5, namespace="lab"),
        event(
            "Pod",
            "train-0",
            "Pulled",
            'Successfully pulled image "x" in 3.2s (3.2s including waiting).',
            6,
            namespace="lab",
        ),
    ]
    assert causes(document) == []


@pytest.mark.parametrize(
    ("took", "slow"),
    [("2m18.049s", True), ("2m0s", True), ("1m59.9s", False), ("945ms", False), ("1h2m3s", True)],
)
def test_a_pull_that_took_long_is_said(took: str, slow: bool) -> None:
    document = healthy()
    message = (
        f'Successfully pulled image "nvcr.io/x" in {took} ({took} including waiting). Image size: 9 bytes.'
    )
    document["kubernetes"]["events"].append(event("Pod", "train-0", "Pulled", message, namespace="lab"))
    assert causes(document) == (["image-pull-slow"] if slow else [])


def test_a_pull_under_way_is_in_progress_and_then_slow() -> None:
    document = healthy()
    replace(document, pod("train-0", "lab", 0, gpus=1, phase="Pending", minute=18))
    document["kubernetes"]["events"].append(
        event("Pod", "train-0", "Pulling", "Pulling image", 19, namespace="lab")
    )
    assert (causes(document), stages(document)) == ([], ["image-pull"])
    document["kubernetes"]["events"][-1] = event(
        "Pod", "train-0", "Pulling", "Pulling image", 15, namespace="lab"
    )
    assert causes(document) == ["image-pull-slow"]


def refused(minute: float = 10) -> Document:
    found = pod("train-0", "lab", 0, gpus=1, phase="Failed", minute=minute, owner="ReplicaSet/train")
    found["status"] = {
        "phase": "Failed",
        "reason": "UnexpectedAdmissionError",
        "message": "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy "
        "devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected",
    }
    return found


def test_the_kubelet_s_refusal_is_named_unless_another_pod_took_over() -> None:
    document = healthy()
    replace(document, refused())
    assert causes(document) == ["admission-refused"]
    document["kubernetes"]["pods"].append(
        pod("train-again", "lab", 0, gpus=1, owner="ReplicaSet/train", minute=11)
    )
    assert causes(document) == []


def test_a_refusal_before_the_expectation_began_is_history() -> None:
    document = healthy()
    replace(document, refused(minute=-10))
    assert causes(document) == []


def test_pods_of_another_pool_are_not_in_scope() -> None:
    document = healthy()
    other = pod("elsewhere", "lab", None, gpus=1, phase="Pending", tolerates=False)
    other["spec"]["nodeSelector"] = {"eks.amazonaws.com/nodegroup": "other-pool"}
    document["kubernetes"]["pods"].append(other)
    assert causes(document) == []


def test_two_independent_causes_are_both_said_in_order() -> None:
    document = healthy()
    document["kubernetes"]["nodes"][1] = node(0, None, ready=False)
    no_gpus(document, 1)
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    without(document, "nvidia-device")
    assert causes(document) == ["node-not-ready", "device-plugin-disabled"]


def test_without_nodes_it_says_what_was_not_read() -> None:
    document = healthy()
    document["kubernetes"] = {}
    del document["aws"]["instances"]
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["unknown"]
    assert "kubernetes.nodes" in " ".join(map(str, found.findings[0].evidence))


def test_nothing_expected_is_nothing_missing() -> None:
    document = healthy()
    document["expected"]["nodes"] = 0
    document["kubernetes"]["nodes"], document["kubernetes"]["pods"] = [], []
    document["aws"]["instances"] = []
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


def test_only_names_in_scope_are_judged_where_nodes_carry_several_taints() -> None:
    document = healthy()
    document["kubernetes"]["nodes"][1]["spec"]["taints"] = [
        TAINT,
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
    ]
    assert causes(document) == []
    assert NODES[0]
