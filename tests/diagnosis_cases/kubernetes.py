"""Cases of the Kubernetes layer: readiness, taints, images, admission, and unknown causes."""

from tests.diagnosis_cases import Case, conditions, node_of
from tests.snapshots import (
    NODES,
    TAINT,
    Document,
    at,
    daemonset,
    event,
    no_gpus,
    node,
    pod,
    replace,
    waiting,
    without,
)

KEPT_AWAY = (
    "0/3 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: true}, 1 Insufficient cpu."
)
REFUSED = (
    "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    "Requested: 1, Available: 0, which is unexpected"
)
SLOW = 'Successfully pulled image "nvcr.io/nvidia/pytorch:26.01-py3" in {} ({} including waiting). Image size: 9 bytes.'


def _not_ready(document: Document, number: int, minute: float = 2) -> None:
    nodes = document["kubernetes"]["nodes"]
    nodes[nodes.index(node_of(document, number))] = node(number, None, ready=False, minute=minute)
    without(
        document,
        *(f"{name}-{number}" for name in ("nvidia-device", "train", "nvidia-operator", "gpu-feature")),
    )


def _was_not_ready(document: Document) -> None:
    """The node was not Ready before, and the event about it still exists."""
    document["kubernetes"]["events"].append(
        event("Node", NODES[0], "NodeNotReady", "status is now: NodeNotReady", 2)
    )


def _not_tolerated(document: Document, number: int) -> None:
    name = f"train-late-{number}"
    document["kubernetes"]["pods"].append(pod(name, "lab", None, gpus=1, phase="Pending", tolerates=False))
    document["kubernetes"]["events"].append(
        event("Pod", name, "FailedScheduling", KEPT_AWAY, namespace="lab")
    )


def _tolerated_and_full(document: Document) -> None:
    said = "0/3 nodes are available: 1 node(s) had untolerated taint {dedicated: infra}, 2 Insufficient nvidia.com/gpu."
    document["kubernetes"]["events"] = [
        event("Pod", "train-waits", "FailedScheduling", said, namespace="lab")
    ]


def _starting(document: Document) -> None:
    node_of(document, 0)["spec"]["taints"] = [
        TAINT,
        {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"},
    ]


def _unpullable(document: Document, number: int) -> None:
    said = 'Back-off pulling image "nvcr.io/nvidia/pytorch:26.13-py3": not found'
    replace(document, waiting(pod(f"work-{number}", "lab", number, gpus=1), "ImagePullBackOff", said))


def _came_in_the_end(document: Document) -> None:
    said = ("Failed", "Failed to pull image: toomanyrequests", 5), ("Pulled", SLOW.format("3.2s", "3.2s"), 6)
    document["kubernetes"]["events"] += [
        event("Pod", "train-0", reason, message, minute, namespace="lab") for reason, message, minute in said
    ]


def _pulled(document: Document, took: str, number: int = 0, minute: float = 10) -> None:
    document["kubernetes"]["pods"].append(pod(f"work-{number}", "lab", number, gpus=1))
    document["kubernetes"]["events"].append(
        event("Pod", f"work-{number}", "Pulled", SLOW.format(took, took), minute, namespace="lab")
    )


def _refused(document: Document, number: int) -> None:
    refused = pod(f"work-{number}", "lab", number, gpus=1, phase="Failed", minute=10)
    refused["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": REFUSED}
    replace(document, refused)


def _evicted(document: Document) -> None:
    evicted = pod("train-0", "lab", 0, gpus=1, phase="Failed", minute=10)
    evicted["status"] = {
        "phase": "Failed",
        "reason": "Evicted",
        "message": "The node was low on ephemeral-storage.",
    }
    replace(document, evicted)


def _refused_and_replaced(document: Document) -> None:
    _refused(document, 0)
    refused = document["kubernetes"]["pods"][-1]
    refused["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "train"}]
    again = pod("train-again", "lab", 0, gpus=1, owner="ReplicaSet/train", minute=11)
    document["kubernetes"]["pods"].append(again)


def _strange(document: Document, number: int) -> None:
    """A hardware condition that no rule knows."""
    conditions(document, number).append(
        {
            "type": "AcceleratedHardwareReady",
            "status": "False",
            "reason": "DCGMHealthCode71",
            "message": "see dmesg",
        }
    )


def _of_no_concern(document: Document) -> None:
    """Facts about other pools, and a condition that is fine."""
    conditions(document, 0).append(
        {"type": "AcceleratedHardwareReady", "status": "True", "reason": "NvidiaReady"}
    )
    elsewhere = pod("elsewhere", "lab", None, gpus=1, phase="Pending", tolerates=False)
    elsewhere["spec"]["nodeSelector"] = {"eks.amazonaws.com/nodegroup": "another-pool"}
    document["kubernetes"]["pods"].append(elsewhere)


def _young_and_short(document: Document) -> None:
    document["now"] = at(4)
    no_gpus(document, 0)
    document["kubernetes"]["daemonsets"] = [daemonset()]


def _update(minute: float, status: str, *nodes: str) -> Document:
    """An update of the group's version; with nodes, one that failed because their pods stayed."""
    error = {
        "errorCode": "PodEvictionFailure",
        "errorMessage": "Reached max retries while trying to evict pods from nodes in node group gpu-lab-ng-gpu",
        "resourceIds": list(nodes),
    }
    return {
        "type": "VersionUpdate",
        "status": status,
        "createdAt": at(minute),
        "errors": [error] if nodes else [],
    }


def _pods_stayed(document: Document, number: int) -> None:
    document["aws"]["updates"] = [_update(3, "Failed", NODES[number])]


def _evicts_still(document: Document) -> None:
    document["aws"]["updates"] = [_update(10, "InProgress")]


def _replaced_in_the_end(document: Document) -> None:
    document["aws"]["updates"] = [
        _update(9, "Successful"),
        _update(3, "Failed", NODES[0]),
        _update(-30, "Failed", NODES[1]),
    ]


CASES = (
    Case("node-not-ready", _not_ready, lambda document: _not_ready(document, 1, minute=19), _was_not_ready),
    Case("untolerated-taint", _not_tolerated, _tolerated_and_full, _starting),
    Case("image-pull-failed", _unpullable, lambda document: _pulled(document, "2m18.049s"), _came_in_the_end),
    Case("image-pull-slow", lambda document, number: _pulled(document, "2m18.049s", number),
     lambda document: _pulled(document, "1m59.9s"), lambda document: _pulled(document, "9m3s", minute=-5)),
    Case("admission-refused", _refused, _evicted, _refused_and_replaced),
    Case("pods-not-evicted", _pods_stayed, _evicts_still, _replaced_in_the_end),
    Case("unknown", _strange, _young_and_short, _of_no_concern),
)  # fmt: skip
