"""One node: its permanent taints, its missing GPUs, its device plugin, and the pods that its taints keep away."""

import pytest

from lamplighter.domain.diagnosis.document import Doc
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import Pod
from lamplighter.reasons.reason import Reason
from tests.snapshots import NODES, TAINT, Document, healthy, judge, node

NAME = NODES[0]
SLICED = {"product": "NVIDIA-H100-MIG-1g.10gb"}


def offering(units: Document, labels: Document | None = None, capacity: Document | None = None) -> Node:
    """A node with these allocatable resources, and the same capacity by default."""
    return Node(
        {
            "metadata": {
                "name": NAME,
                "labels": {f"nvidia.com/gpu.{k}": v for k, v in (labels or {}).items()},
            },
            "status": {"allocatable": units, "capacity": units if capacity is None else capacity},
        }
    )


def gpus(count: int) -> Document:
    return {"nvidia.com/gpu": str(count)}


def test_taints_of_a_start_and_preferences_keep_nobody_away_for_good() -> None:
    dedicated = {"key": "dedicated", "effect": "NoExecute"}
    starting = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    preferred = {"key": "spot", "effect": "PreferNoSchedule"}
    assert Node({"spec": {"taints": [starting, TAINT, preferred, dedicated]}}).taints == [TAINT, dedicated]


@pytest.mark.parametrize(("image", "compute", "brings"), [
    ("Bottlerocket OS 1.50.0 (aws-k8s-1.35-nvidia)", "", True),
    ("Bottlerocket OS 1.50.0 (aws-k8s-1.35)", "", False),
    ("Ubuntu 24.04 with nvidia", "", False),
    ("Amazon Linux 2023.9.20260714", "auto", True),
    ("Amazon Linux 2023.9.20260714", "ec2", False),
])  # fmt: skip
def test_gpus_are_announced_without_a_pod_by_bottlerocket_for_nvidia_and_by_auto_mode(
    image: str, compute: str, *, brings: bool
) -> None:
    labels = {"eks.amazonaws.com/compute-type": compute}
    found = Node({"metadata": {"labels": labels}, "status": {"nodeInfo": {"osImage": image}}})
    assert found.brings_plugin is brings


def test_gpus_were_announced_once_either_figure_names_them() -> None:
    assert not offering({}).announced
    assert offering(gpus(0), capacity={}).announced
    assert offering({}, capacity=gpus(1)).announced


@pytest.mark.parametrize(("found", "wanted", "short"), [
    (offering(gpus(2)), 2, None),
    (offering(gpus(1)), 2, f"{NAME} offers 1 GPUs where 2 are expected"),
    (offering(gpus(3)), 2, None),
    (offering(gpus(7), {"replicas": "4"}), 2, f"{NAME} offers 7 GPUs where 8 are expected"),
    (offering(gpus(2), {"count": "2"}), 2, None),
    (offering(gpus(2), {"count": "1"}), 2, f"GPU feature discovery counts 1 GPUs on {NAME} where 2 are expected"),
    (offering({"nvidia.com/mig-1g.5gb": "2"}), 8, None),
    (offering({"nvidia.com/mig-1g.5gb": "0"}), 8, f"{NAME} offers 0 GPUs where 8 are expected"),
    (offering(gpus(7), SLICED), 8, None),
    (offering(gpus(6), SLICED, capacity=gpus(7)), 8, f"{NAME} offers 6 of its 7 GPUs"),
])  # fmt: skip
def test_a_node_is_short_of_the_gpus_that_it_does_not_offer(
    found: Node, wanted: int, short: str | None
) -> None:
    reason = found.short_of(wanted)
    assert (None if reason is None else str(reason)) == short


@pytest.mark.parametrize(("toleration", "goes"), [
    ({"key": "a", "operator": "Exists", "effect": "NoSchedule"}, True),
    ({"key": "a", "operator": "Exists"}, True),
    ({"key": "a", "operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "other", "operator": "Exists"}, False),
    ({"operator": "Exists"}, True),
    ({"operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "a", "operator": "Equal", "value": "b"}, True),
    ({"key": "a", "value": "b"}, True),
    ({"key": "a", "value": "other"}, False),
    ({"value": "b"}, False),
])  # fmt: skip
def test_a_toleration_covers_a_taint_as_the_scheduler_compares_them(
    toleration: Document, *, goes: bool
) -> None:
    taint: Doc = {"key": "a", "value": "b", "effect": "NoSchedule"}
    found = Pod({"spec": {"tolerations": [toleration]}})
    assert found.untolerated([taint]) == ({} if goes else taint)


def test_of_several_taints_the_first_that_no_toleration_covers_keeps_a_pod_away() -> None:
    taints: list[Doc] = [{"key": key, "effect": "NoSchedule"} for key in "abc"]
    tolerates = [{"key": key, "operator": "Exists"} for key in "da"]
    assert Pod({"spec": {"tolerations": tolerates}}).untolerated(taints) == taints[1]


@pytest.mark.parametrize("ready", [True, False])
def test_each_node_is_waited_for_by_itself(*, ready: bool) -> None:
    document = healthy(now=5)
    document["kubernetes"]["nodes"][1:] = [node(0, ready=ready, minute=2), node(1, ready=False, minute=1.9)]
    found = judge(document)
    assert [(each.cause.name, each.about) for each in found.findings] == [("node-not-ready", NODES[1])]
    assert [each.about for each in found.in_progress] == ([] if ready else [NODES[0]])


def test_a_node_says_why_it_is_not_ready_or_that_it_says_nothing() -> None:
    assert Node(node(ready=False)).ready_message == "KubeletNotReady: cni plugin not initialized"
    assert Node(node(ready=True)).ready_message == "KubeletReady"
    assert Node({}).ready_message == ""
    assert Node({}).unready.values["words"] == Reason("finding.evidence.no-ready-condition")
