"""EFA in a pool that asks for it: its devices are counted before a check, and a collective takes its share of them."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.adapters.kubernetes.nodes import node_facts
from lamplighter.domain.checks.ladder import ALL_REDUCE
from lamplighter.domain.checks.manifests import CheckOrigin, job
from lamplighter.domain.checks.node import efa
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.gpu.readiness import GpuSignals, not_ready_because
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.reasons.reason import reason
from tests.unit.checks.built import kind, node

ORIGIN = CheckOrigin("lease", "gpu", "2026-11-20T11:01:00Z")


def node_with(allocatable: dict[str, str]) -> NodeFacts:
    metadata = {"name": "a", "creationTimestamp": "2026-11-20T11:00:00Z", "labels": {}}
    conditions = [{"type": "Ready", "status": "True"}]
    amounts = {"nvidia.com/gpu": "8", **allocatable}
    status = {"conditions": conditions, "capacity": amounts, "allocatable": amounts}
    return node_facts({"metadata": metadata, "spec": {}, "status": status})


def asked(
    nodes: list[NodeFacts], instance_type: str, *, over_tcp: bool = False
) -> tuple[dict[str, str], str]:
    """What each pod of an all_reduce asks for beside its GPU, and the line that it runs."""
    of_type = kind(instance_type)
    made: Any = job(ALL_REDUCE, ORIGIN, "seat", nodes, of_type.over_tcp() if over_tcp else of_type)
    [container] = made["spec"]["template"]["spec"]["containers"]
    resources = container["resources"]
    own = {"cpu", "memory", "nvidia.com/gpu"}
    more = {name: amount for name, amount in resources["requests"].items() if name not in own}
    # Kubernetes takes no request of such resources that is not their limit.
    assert more.items() <= resources["limits"].items()
    return more, container["command"][-1]


@pytest.mark.parametrize(("instance_type", "devices"), [
    ("g5.8xlarge", "1"), ("p4d.24xlarge", "1"), ("p5.48xlarge", "4"), ("p6-b300.48xlarge", "2"),
])  # fmt: skip
def test_a_rank_takes_its_gpu_s_share_of_the_devices_and_huge_pages(instance_type: str, devices: str) -> None:
    rich = node_with({"vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "21122Mi"})
    more, line = asked([rich, rich], instance_type)
    assert more == {"vpc.amazonaws.com/efa": devices, "hugepages-2Mi": "5120Mi"}
    assert "/opt/amazon/aws-ofi-nccl/lib" in line


def test_huge_pages_are_asked_for_only_where_both_nodes_have_them() -> None:
    rich, without = (
        node_with({"vpc.amazonaws.com/efa": "4", "hugepages-2Mi": text}) for text in ("10Gi", "0")
    )
    assert asked([rich, without], "p4d.24xlarge")[0] == {"vpc.amazonaws.com/efa": "1"}


def test_a_small_node_s_rank_takes_no_more_huge_pages_than_the_node_has() -> None:
    """EFA's installer reserves them by vCPU: p5.4xlarge has fewer than AWS's examples take."""
    small, rich = (
        node_with({"vpc.amazonaws.com/efa": "1", "hugepages-2Mi": text}) for text in ("3522Mi", "10Gi")
    )
    assert asked([rich, small], "p5.4xlarge")[0]["hugepages-2Mi"] == "3522Mi"


def test_a_pool_without_efa_asks_for_none_of_it() -> None:
    rich = node_with({"vpc.amazonaws.com/efa": "4", "hugepages-2Mi": "10Gi"})
    more, line = asked([rich, rich], "p4d.24xlarge", over_tcp=True)
    assert (more, "amazon" in line) == ({}, False)
    assert asked([node().facts, node("b").facts], "g5.xlarge")[0] == {}


@pytest.mark.parametrize(
    ("devices", "outcome"), [("4", Outcome.PASSED), ("3", Outcome.FAILED), ("0", Outcome.FAILED)]
)
def test_every_device_of_the_type_can_be_had(devices: str, outcome: Outcome) -> None:
    found = efa(node_with({"vpc.amazonaws.com/efa": devices}), kind("p4d.24xlarge"))
    assert found.outcome is outcome
    assert str(found.reason) == f"{devices} of 4 EFA devices can be allocated"


def test_a_node_is_ready_once_its_plugin_has_announced_every_device() -> None:
    early = node_with({})
    built_in = GpuSignals("built-in", discovery=False)
    assert not_ready_because(early, 8, built_in, efa=4) == [reason("gpu.efa", allocatable=0, expected=4)]
    assert not_ready_because(replace(early, efa=4), 8, built_in, efa=4) == []
