"""Diagnosis of a cluster without a GPU Operator by design: its absence is no finding."""

from tests.snapshots import (
    NODES,
    Document,
    causes,
    daemonset,
    healthy,
    judge,
    no_gpus,
    pod,
    policy,
    stages,
)

PLUGIN = "nvdp-nvidia-device-plugin"
OPERATOR_DOWN = {
    "metadata": {
        "name": "gpu-operator",
        "namespace": "gpu-operator",
        "creationTimestamp": "2026-11-20T08:00:00Z",
    },
    "spec": {"replicas": 1},
    "status": {"availableReplicas": 0},
}
ROCKET = "Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)"


def by_the_chart(*, now: float = 20) -> Document:
    """A pool of one node with the device-plugin chart: no operator, no feature discovery."""
    document = healthy(nodes=1, now=now)
    bare(document)
    kubernetes = document["kubernetes"]
    kubernetes["daemonsets"] = [daemonset(PLUGIN, 1)]
    kubernetes["pods"] = [pod(f"{PLUGIN}-0", "nvidia-device-plugin", owner=f"DaemonSet/{PLUGIN}")]
    return document


def by_the_image(*, now: float = 20) -> Document:
    """A pool of one Bottlerocket node, which announces its GPU by itself."""
    document = healthy(nodes=1, now=now)
    bare(document)
    document["kubernetes"]["pods"] = []
    document["aws"]["nodegroup"]["amiType"] = "BOTTLEROCKET_x86_64_NVIDIA"
    mine = gpu_node(document)
    mine["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"
    mine["status"]["nodeInfo"]["osImage"] = ROCKET
    return document


def bare(document: Document) -> None:
    kubernetes = document["kubernetes"]
    for kind in ("clusterpolicies", "runtimeclasses", "daemonsets", "deployments"):
        kubernetes[kind] = []
    labels = gpu_node(document)["metadata"]["labels"]
    for name in [name for name in labels if name.startswith("nvidia.com/")]:
        del labels[name]


def gpu_node(document: Document) -> Document:
    found: Document = next(
        each for each in document["kubernetes"]["nodes"] if each["metadata"]["name"] == NODES[0]
    )
    return found


def test_a_healthy_pool_of_either_kind_has_no_finding() -> None:
    for document in (by_the_chart(), by_the_image()):
        assert (causes(document), stages(document)) == ([], [])


def test_a_chart_s_plugin_that_is_gone_is_missing_and_nobody_else_is() -> None:
    document = by_the_chart()
    no_gpus(document)
    document["kubernetes"]["daemonsets"] = document["kubernetes"]["pods"] = []
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["device-plugin-missing"]
    assert not any("perator" in str(line) for line in found.findings[0].evidence)


def test_the_chart_s_feature_discovery_is_not_taken_for_its_plugin() -> None:
    document = by_the_chart()
    no_gpus(document)
    discovery = f"{PLUGIN}-gpu-feature-discovery"
    document["kubernetes"]["daemonsets"] = [daemonset(discovery, 1)]
    document["kubernetes"]["pods"] = [
        pod(f"{discovery}-0", "nvidia-device-plugin", owner=f"DaemonSet/{discovery}")
    ]
    assert causes(document) == ["device-plugin-missing"]


def test_an_image_that_announces_nothing_is_late_and_no_daemonset_is_missed() -> None:
    document = by_the_image(now=5)
    no_gpus(document)
    assert (causes(document), stages(document)) == ([], ["gpus-announced"])

    document = by_the_image()
    no_gpus(document)
    found = judge(document)
    assert [each.cause.name for each in found.findings] == ["device-plugin-missing"]
    said = " ".join(map(str, found.findings[0].evidence))
    assert ROCKET in said
    assert "DaemonSet" not in said


def test_an_operator_that_serves_other_pools_says_nothing_of_this_one() -> None:
    document = by_the_image()
    document["kubernetes"]["clusterpolicies"] = [policy(devicePlugin={"enabled": False})]
    document["kubernetes"]["deployments"] = [OPERATOR_DOWN]
    assert causes(document) == []
    no_gpus(document)
    assert causes(document) == ["device-plugin-missing"]
