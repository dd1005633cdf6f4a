"""Document 001 with the real Karpenter: its NodePool is opened, a student runs the document's pod, and it closes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.examples.opened import EXAMPLES, close, deployed_with_karpenter, gpu_pod
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long
PODS = "/api/v1/namespaces/default/pods"
POOL = "gpu-pool"
#: It ends, so it is not started again.
GPU_POD = gpu_pod("gpu-workload", "nvidia-smi", restartPolicy="Never")


@pytest.fixture(scope="module")
def example(device_plugin_chart: Path) -> Iterator[KarpenterDay]:
    """The lab of the document, deployed. Its pool is at zero."""
    del device_plugin_chart  # only its presence counts
    with deployed_with_karpenter(EXAMPLES / "001-karpenter.yaml", POOL) as lab:
        yield lab


@pytest.fixture(scope="module")
def lease(example: KarpenterDay) -> Lease:
    """A lease of one node whose GPUs are proven."""
    opened = example.open(1, "1h", "--wait")
    return example.until_state(opened.id, LeaseState.OPEN)


def test_the_node_is_the_one_that_karpenter_launched_for_the_claim(
    example: KarpenterDay, lease: Lease
) -> None:
    [claim], [node], [instance] = example.claims(), example.nodes(), example.instances()

    assert lease.nodes == example.replicas() == 1
    assert claim["status"]["providerID"] == node["spec"]["providerID"]
    assert claim["status"]["providerID"].endswith(f"/{instance}")
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "g4dn.xlarge"
    taints = [(one["key"], one.get("value"), one["effect"]) for one in node["spec"]["taints"]]
    assert taints == [("gpu-workload", None, "NoSchedule")]


@pytest.mark.usefixtures("lease")
def test_a_student_runs_the_document_s_pod(example: KarpenterDay) -> None:
    student = example.kubernetes
    student.create(PODS, GPU_POD)

    def phase() -> str:
        return str(student.get(f"{PODS}/gpu-pod")["status"].get("phase"))

    example.await_("the pod has ended", lambda: phase() == "Succeeded", timedelta(minutes=5))
    assert "Tesla T4" in student.text(f"{PODS}/gpu-pod/log")


def test_people_see_the_lease_and_extend_it(example: KarpenterDay, lease: Lease) -> None:
    status, why, cost = (example.command(verb, "--json") for verb in ("status", "why", "cost"))
    extended = example.command("extend", POOL, "10m", "--json")
    leases = example.command("leases", "--json")

    assert [said.code for said in (status, why, cost, extended, leases)] == [0] * 5
    assert [row["id"] for row in leases.rows] == [lease.id]
    later = example.until_state(lease.id, LeaseState.OPEN)
    assert later.closes == lease.closes + timedelta(minutes=10)


def test_the_pool_closes_and_is_proven_to_be_at_zero(example: KarpenterDay, lease: Lease) -> None:
    assert close(example, lease.id) >= {"allocatable", "nvidia-smi", "vectoradd"}

    receipt = example.receipt(lease.id)
    assert (receipt["proof_of_zero"]["nodeclaims"], receipt["proof_of_zero"]["remarks"]) == ([], [])
    assert set(receipt["stages"]) >= {"armed", "nodes", "joined", "node-ready", "gpus", "checks"}
    assert example.claims() == []
