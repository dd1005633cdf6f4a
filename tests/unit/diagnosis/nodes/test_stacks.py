"""Diagnosis of a cluster without a GPU Operator by design: its absence is no finding."""

import pytest

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
    told,
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


def chart_values(value: str) -> list[Document]:
    """The tolerations of the chart 0.18.2 for the worker of Node Feature Discovery, by its value of the taint."""
    master = {
        "key": "node-role.kubernetes.io/master",
        "operator": "Equal",
        "value": "",
        "effect": "NoSchedule",
    }
    return [master, {"key": "nvidia.com/gpu", "operator": "Equal", "value": value, "effect": "NoSchedule"}]


def by_the_whole_chart(
    release: str = "nvdp", *, tolerated: str = "present", placed: bool = False
) -> Document:
    """The chart with GPU feature discovery, as document 002 installs it, on one node with the taint of the lab.

    `placed`: nodeadm has labelled the node, so that the plugin and GPU feature discovery run without NFD.
    """
    document = by_the_chart()
    chart = release if PLUGIN[5:] in release else f"{release}-{PLUGIN[5:]}"
    worker = f"{release}-node-feature-discovery-worker"
    discovery = f"{chart}-gpu-feature-discovery"
    by_label = [chart, discovery]
    found = [*(daemonset(name, int(placed)) for name in by_label), daemonset(worker, 1)]
    for each in found:
        each["metadata"]["namespace"] = "nvidia"
        spec = each["spec"]["template"]["spec"]
        del spec["nodeSelector"]
        if each["metadata"]["name"] != worker:
            spec["affinity"] = AFFINITY
    found[-1]["spec"]["template"]["spec"]["tolerations"] = chart_values(tolerated)
    labels = gpu_node(document)["metadata"]["labels"]
    labels.pop("nvidia.com/gpu.present", None)
    pods = [pod(f"{worker}-s", "nvidia", None, owner=f"DaemonSet/{worker}")]
    pods[0]["spec"]["nodeName"] = "the-system-node"
    if placed:
        labels["nvidia.com/gpu.present"] = "true"
        pods += [pod(f"{name}-0", "nvidia", owner=f"DaemonSet/{name}") for name in by_label]
    else:
        no_gpus(document)
    document["kubernetes"]["daemonsets"], document["kubernetes"]["pods"] = found, pods
    return document


AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
                for key, value in (
                    ("feature.node.kubernetes.io/pci-10de.present", "true"),
                    ("feature.node.kubernetes.io/cpu-model.vendor_id", "NVIDIA"),
                    ("nvidia.com/gpu.present", "true"),
                )
            ]
        }
    }
}
ONE_LINE = (
    "set in the values of the device-plugin chart nfd.worker.tolerations:"
    " [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]"
)


@pytest.mark.parametrize("release", ["nvdp", "nvidia-device-plugin"])
@pytest.mark.parametrize("placed", [False, True])
def test_a_worker_that_does_not_tolerate_the_taint_is_named_with_the_line_that_mends_it(
    release: str, *, placed: bool
) -> None:
    document = by_the_whole_chart(release, placed=placed)
    [(cause, about, evidence)] = told(document)
    worker = f"nvidia/{release}-node-feature-discovery-worker"
    assert (cause, about) == ("untolerated-taint", worker)
    assert f"{worker} does not tolerate nvidia.com/gpu=true:NoSchedule" in evidence[0]
    assert evidence[-1] == ONE_LINE


@pytest.mark.parametrize("release", ["nvdp", "nvidia-device-plugin"])
def test_a_worker_that_tolerates_the_taint_is_no_cause(release: str) -> None:
    document = by_the_whole_chart(release, tolerated="true", placed=True)
    gpu_node(document)["metadata"]["labels"]["nvidia.com/gpu.count"] = "1"
    worker = f"{release}-node-feature-discovery-worker"
    document["kubernetes"]["pods"].append(pod(f"{worker}-0", "nvidia", owner=f"DaemonSet/{worker}"))
    assert told(document) == []


def test_a_plugin_that_does_not_tolerate_the_taint_is_named_although_its_discovery_does() -> None:
    document = by_the_whole_chart("nvidia-device-plugin", tolerated="true")
    for each in document["kubernetes"]["daemonsets"][:2]:
        each["spec"]["template"]["spec"]["tolerations"] = []
    worker = "nvidia-device-plugin-node-feature-discovery-worker"
    document["kubernetes"]["pods"].append(pod(f"{worker}-0", "nvidia", owner=f"DaemonSet/{worker}"))
    [(cause, about, _)] = told(document)
    assert (cause, about) == ("untolerated-taint", "nvidia/nvidia-device-plugin")


def test_a_plugin_whose_affinity_fits_no_label_of_the_node_says_which_label_is_missing() -> None:
    document = by_the_whole_chart(tolerated="true")
    document["kubernetes"]["daemonsets"] = document["kubernetes"]["daemonsets"][:1]
    [(cause, _, evidence)] = told(document)
    assert cause == "device-plugin-missing"
    assert evidence[-1] == f"{NODES[0]} lacks the label feature.node.kubernetes.io/pci-10de.present=true"


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
