"""The product's own rules, applied to simulated nodes: what is healthy there is ready and passes here."""

import pytest

from lamplighter.adapters.kubernetes.nodes import node_facts
from lamplighter.adapters.kubernetes.pods import pod_facts
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks.manifests import CheckOrigin, pod
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.gpu.readiness import VALIDATOR_LABEL, GpuSignals, not_ready_because
from tests.local.cluster.lab import await_true

ERRAND = CheckOrigin("lease-1", "gpu", "2026-11-20T10:00:00Z")


def test_a_node_is_ready_by_the_products_rule(lab):
    pods = lab.kubernetes.get(f"/api/v1/pods?labelSelector={VALIDATOR_LABEL}")["items"]
    node = node_facts(lab.node(lab.gpu))
    assert not_ready_because(node, 1, GpuSignals(validators=[pod_facts(item) for item in pods])) == []


@pytest.mark.parametrize(
    "check", [one for one in checks.LADDERS["deep"] if one.nodes == 1], ids=lambda one: one.name
)
def test_the_products_checks_pass_on_a_healthy_node(lab, check):
    lab.kubernetes.create("/api/v1/namespaces", {"metadata": {"name": "lamplighter"}})
    account = "/api/v1/namespaces/lamplighter/serviceaccounts/default"
    await_true(lambda: lab.kubernetes.find(account), "the namespace has its service account")
    node, kind = node_facts(lab.node(lab.gpu)), gpu_type(lab.gpu.instance_type)
    assert kind is not None
    manifest = pod(check, ERRAND, f"agrees-{check.name}", node, kind)
    made = lab.kubernetes.request("POST", "/api/v1/namespaces/lamplighter/pods", manifest)
    path = f"/api/v1/namespaces/lamplighter/pods/{made['metadata']['name']}"
    lab.await_phase(path, "Succeeded")
    verdict = check.judge(lab.kubernetes.text(path + "/log"), 0, 1, kind)
    assert verdict.passed, verdict.reason
    lab.kubernetes.delete(path)
