"""Document 002: NVIDIA's own chart announces the GPUs of a NodePool of the real Karpenter; a student runs its pod."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.examples.opened import EXAMPLES, close, deployed_with_karpenter, gpu_pod
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long
PODS = "/api/v1/namespaces/default/pods"
SELECTED = "/api/v1/nodes?labelSelector=nodeType=nvidia"
GPU_POD = gpu_pod("nvidia.com/gpu", "/bin/sh", "-c", "nvidia-smi && sleep 300", restartPolicy="Never")


@pytest.fixture(scope="module")
def example(device_plugin_chart: Path) -> Iterator[KarpenterDay]:
    """The lab of the document, deployed. Its pool is at zero."""
    del device_plugin_chart  # only its presence counts
    with deployed_with_karpenter(EXAMPLES / "002-device-plugin.yaml", "gpu") as lab:
        yield lab


@pytest.fixture(scope="module")
def lease(example: KarpenterDay) -> Lease:
    """A lease of one node whose GPUs are proven."""
    opened = example.open(1, "1h", "--wait")
    return example.until_state(opened.id, LeaseState.OPEN)


@pytest.mark.usefixtures("lease")
def test_the_chart_s_daemonsets_are_those_of_the_document(example: KarpenterDay) -> None:
    listed = example.cloud.control_plane.admin().get("/apis/apps/v1/namespaces/nvidia/daemonsets")["items"]

    placed = {one["metadata"]["name"]: one["status"]["desiredNumberScheduled"] for one in listed}
    # The document has four other nodes, and no GPU node yet. Here are one GPU node and two system nodes.
    assert placed == {
        "nvdp-node-feature-discovery-worker": 3,
        "nvdp-nvidia-device-plugin": 1,
        "nvdp-nvidia-device-plugin-gpu-feature-discovery": 1,
        "nvdp-nvidia-device-plugin-mps-control-daemon": 0,
    }


@pytest.mark.usefixtures("lease")
def test_discovery_labels_the_node_and_the_plugin_offers_its_gpu(example: KarpenterDay) -> None:
    admin = example.cloud.control_plane.admin()
    [node] = admin.get(SELECTED)["items"]

    labels = node["metadata"]["labels"]
    assert labels["feature.node.kubernetes.io/pci-10de.present"] == "true"
    assert labels["nvidia.com/gpu.product"] == "Tesla-T4"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    taints = [(one["key"], one.get("value"), one["effect"]) for one in node["spec"]["taints"]]
    assert taints == [("nvidia.com/gpu", "present", "NoSchedule")]


@pytest.mark.usefixtures("lease")
def test_a_student_runs_the_document_s_pod(example: KarpenterDay) -> None:
    student = example.cloud.control_plane.admin()
    student.create(PODS, GPU_POD)

    def phase() -> str:
        return str(student.get(f"{PODS}/gpu-pod")["status"].get("phase"))

    example.until("the pod runs", lambda _: phase() == "Running", timedelta(minutes=5))
    example.until("it has printed", lambda _: bool(student.text(f"{PODS}/gpu-pod/log")), timedelta(minutes=2))

    printed = student.text(f"{PODS}/gpu-pod/log")
    assert "NVIDIA-SMI" in printed
    assert "Tesla T4" in printed
    assert phase() == "Running"
    student.delete(f"{PODS}/gpu-pod")


@pytest.mark.usefixtures("lease")
def test_every_check_passes_and_what_needs_the_operator_is_not_proven(example: KarpenterDay) -> None:
    verdicts = [str(entry.what) for entry in example.entries(NOON, "verdict")]
    passed = {verdict.partition(" ")[0] for verdict in verdicts if " passed on " in verdict}
    assert passed == {"allocatable", "labels", "nvidia-smi", "vectoradd", "xid"}
    assert len(verdicts) == len(passed)

    example.until(
        "the lease is announced",
        lambda _: any(entry.details.get("notice") for entry in example.entries(NOON, "announced")),
        timedelta(minutes=5),
    )
    announced = " ".join(f"{entry.what} {entry.why}" for entry in example.entries(NOON, "announced"))
    assert "Not judged: validator (not proven: no GPU Operator)." in announced


def test_the_pool_closes_and_is_proven_to_be_at_zero(example: KarpenterDay, lease: Lease) -> None:
    assert close(example, lease.id) >= {"allocatable", "nvidia-smi", "vectoradd"}
    assert example.claims() == []

    def nodes(path: str) -> set[str]:
        return {each["metadata"]["name"] for each in example.kubernetes.get(path)["items"]}

    features = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/nvidia/nodefeatures"
    example.await_(
        "the garbage collector of discovery has forgotten the node",
        lambda: nodes(features) == nodes("/api/v1/nodes"),
        timedelta(minutes=5),
    )
