"""How long the diagnosis of a large pool takes: 200 nodes and 3,000 pods, all well, and each node in trouble."""

from collections.abc import Mapping

from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.redaction import redacted
from tests import snapshots
from tests.bench.figure import Measurement, best_of
from tests.snapshots import Document

NODES = 200
PODS_A_NODE = 15
SOFTWARE = (
    "nvidia-device-plugin-daemonset",
    "nvidia-operator-validator",
    "gpu-feature-discovery",
    "nvidia-dcgm-exporter",
    "aws-node",
)
LOG = "I1120 11:05:00.000001 1 main.go:356] Retrieving plugins.\n" * 200
TROUBLED_LOGS = 60


def large_pool(nodes: int = NODES, *, troubled: bool = False) -> Document:
    """Each node with its GPU software, one job's rank of many, and pods that wait; troubled: no plugin works."""
    document = snapshots.healthy(nodes=1)
    kubernetes = document["kubernetes"]
    kubernetes["nodes"], kubernetes["pods"], document["expected"]["nodes"] = [], [], nodes
    document["aws"]["instances"] = []
    for number in range(nodes):
        _add_node(document, number, troubled=troubled)
    return document


def _add_node(document: Document, number: int, *, troubled: bool) -> None:
    kubernetes, name, instance = document["kubernetes"], f"ip-10-0-{number}", f"i-{number:017x}"
    node = snapshots.node(0, gpus=0 if troubled else 1)
    node["metadata"]["name"], node["spec"]["providerID"] = name, f"aws:///a/{instance}"
    kubernetes["nodes"].append(node)
    document["aws"]["instances"].append({**snapshots.instance(0), "InstanceId": instance})
    for count in range(PODS_A_NODE):
        software = count < len(SOFTWARE)
        called = f"{SOFTWARE[count]}-{number}" if software else f"train-{number}-{count}"
        pod = snapshots.pod(called, "gpu-operator" if software else "lab", gpus=0 if software else 1)
        pod["spec"]["nodeName"] = name
        if not software:
            pod["metadata"]["ownerReferences"] = [{"kind": "Job", "name": f"train-{number % 40}"}]
        if not software and count > len(SOFTWARE):
            # One rank has the GPU, the others wait for one.
            pod["spec"]["nodeName"] = ""
            pod["status"] = {"phase": "Pending"}
        if troubled and called.startswith(SOFTWARE[0]):
            pod = snapshots.waiting(pod, "CrashLoopBackOff", "back-off 5m0s", restarts=9)
            if number < TROUBLED_LOGS:
                document["logs"][f"gpu-operator/{called}/main"] = LOG + "could not load NVML library"
        kubernetes["pods"].append(pod)
        said = (
            "0/200 nodes are available: 200 Insufficient nvidia.com/gpu."
            if not software
            else "Started container"
        )
        reason = "Started" if software else "FailedScheduling"
        kubernetes["events"].append(
            snapshots.event("Pod", called, reason, said, namespace=pod["metadata"]["namespace"])
        )


def _take() -> Mapping[str, float]:
    well, troubled = large_pool(), large_pool(troubled=True)
    return {
        "diagnose-healthy": 1000 * best_of(lambda: diagnose(Snapshot.read(well))),
        "diagnose-troubled": 1000 * best_of(lambda: diagnose(Snapshot.read(troubled))),
        "redact": 1000 * best_of(lambda: redacted(troubled), times=3),
    }


MEASUREMENTS = (Measurement({"diagnose-healthy": "ms", "diagnose-troubled": "ms", "redact": "ms"}, _take),)
