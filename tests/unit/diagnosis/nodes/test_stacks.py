"""Diagnosis of a cluster without a GPU Operator by design: its absence is no finding."""

from typing import Any

from tests.snapshots import NODES, Document, daemonset, healthy, no_gpus, pod, policy
from tests.unit.diagnosis.table import Told, given, table

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
RELEASES = ("nvdp", "nvidia-device-plugin")
CHART_PLUGIN = "nvidia/nvidia-device-plugin"
TAINTED = f"DaemonSet {{}} does not tolerate nvidia.com/gpu=true:NoSchedule of {NODES[0]}, desired pods: {{}}"
BY_ITSELF = (
    f"its image ({ROCKET}) runs the device plugin as a service of the node, without a pod or a log"
    " in the cluster"
)
MISSING = f"{NODES[0]} is Ready and offers no nvidia.com/gpu"


def worker_of(release: str) -> Document:
    worker = f"{release}-node-feature-discovery-worker"
    return pod(f"{worker}-0", "nvidia", owner=f"DaemonSet/{worker}")


def tolerated(release: str) -> Document:
    document = by_the_whole_chart(release, tolerated="true", placed=True)
    gpu_node(document)["metadata"]["labels"]["nvidia.com/gpu.count"] = "1"
    return given(document, worker_of(release))


def intolerant() -> Document:
    """The plugin does not tolerate the taint, although its discovery does."""
    document = by_the_whole_chart("nvidia-device-plugin", tolerated="true")
    for each in document["kubernetes"]["daemonsets"][:2]:
        each["spec"]["template"]["spec"]["tolerations"] = []
    return given(document, worker_of("nvidia-device-plugin"))


def unlabelled() -> Document:
    """The plugin's affinity fits no label of the node, and there is nothing else of the chart."""
    document = by_the_whole_chart(tolerated="true")
    return given(document, daemonsets=document["kubernetes"]["daemonsets"][:1])


def without_gpu(document: Document, **parts: Any) -> Document:
    no_gpus(document)
    return given(document, **parts)


def only_discovery() -> Document:
    name = f"{PLUGIN}-gpu-feature-discovery"
    found = pod(f"{name}-0", "nvidia-device-plugin", owner=f"DaemonSet/{name}")
    return without_gpu(by_the_chart(), daemonsets=[daemonset(name, 1)], pods=[found])


OF_OTHERS: dict[str, Any] = {
    "clusterpolicies": [policy(devicePlugin={"enabled": False})],
    "deployments": [OPERATOR_DOWN],
}


def of_worker(release: str, *lines: str) -> list[Told]:
    worker = f"nvidia/{release}-node-feature-discovery-worker"
    return [("untolerated-taint", worker, TAINTED.format(worker, 1), *lines, ONE_LINE)]


test_without_an_operator_by_design = table(
    *((f"a worker of {release} does not tolerate the taint", by_the_whole_chart(release), of_worker(release))
      for release in RELEASES),
    *((f"a worker of {release} does not, and nodeadm has labelled the node", by_the_whole_chart(release, placed=True),
       of_worker(release, f"{NODES[0]} lacks the label nvidia.com/gpu.count")) for release in RELEASES),
    ("a worker does not, but no discovery waits for it",
     given(by_the_whole_chart(placed=True), gone="nvdp-nvidia-device-plugin-gpu"), []),
    *((f"a worker of {release} tolerates it", tolerated(release), []) for release in RELEASES),
    ("a plugin does not, although its discovery does", intolerant(),
     [("untolerated-taint", CHART_PLUGIN, TAINTED.format(CHART_PLUGIN, 0))]),
    ("no label of the node fits the plugin's affinity", unlabelled(),
     [("device-plugin-missing", NODES[0], MISSING,
       f"DaemonSet {PLUGIN} has no pod on {NODES[0]}; desired pods in the cluster: 0",
       f"{NODES[0]} lacks the label feature.node.kubernetes.io/pci-10de.present=true")]),
    ("all is well by the chart", by_the_chart(), []),
    ("all is well by the image", by_the_image(), []),
    ("the plugin is gone, and nothing else is missed", without_gpu(by_the_chart(), daemonsets=[], pods=[]),
     [("device-plugin-missing", NODES[0], MISSING, "there is no DaemonSet of the device plugin")]),
    ("feature discovery is not taken for the plugin", only_discovery(), ["device-plugin-missing"]),
    ("an image may take a while to announce its GPUs", without_gpu(by_the_image(now=5)), ["gpus-announced"]),
    ("an image announces nothing, and no DaemonSet is missed", without_gpu(by_the_image()),
     [("device-plugin-missing", NODES[0], MISSING, BY_ITSELF)]),
    ("an operator that serves other pools says nothing of this one", given(by_the_image(), **OF_OTHERS), []),
    ("also where an image announces nothing", without_gpu(by_the_image(), **OF_OTHERS), ["device-plugin-missing"]),
)  # fmt: skip
