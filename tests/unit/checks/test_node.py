"""The checks without a pod: allocatable GPUs, labels, and fatal XIDs."""

from datetime import UTC, datetime
from typing import Any

import pytest

from docs.instance_types import types as ec2_types
from lamplighter.adapters.kubernetes.nodes import node_facts
from lamplighter.domain.checks.node import allocatable, labels, validator, xid
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType, figures, gpu_type, types
from lamplighter.domain.gpu.xid_log import xids
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.lab.model import GpuStack
from lamplighter.reasons.reason import Said, reason

NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
LABELS = {
    "nvidia.com/gpu.count": "4",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/gpu.product": "NVIDIA-A10G",
    "nvidia.com/cuda.driver-version.full": "580.159.03",
}
PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN


def kind(name: str = "g5.12xlarge") -> GpuType:
    found = gpu_type(name)
    assert found is not None
    return found


def node(gpus: int = 4, without: str = "", **more: str) -> NodeFacts:
    found = {**LABELS, **{key.replace("__", "."): value for key, value in more.items()}}
    shown = {key: value for key, value in found.items() if key != without}
    return NodeFacts("a", "i-1", NOW, ready=True, labels=shown, allocatable={"nvidia.com/gpu": gpus})


def told(gpus: int = 4, without: str = "", **labelled: str) -> NodeFacts:
    changes = {f"nvidia.com/gpu.{key}": value for key, value in labelled.items()}
    return node(gpus, without, **changes)


@pytest.mark.parametrize(("found", "outcome"), [
    (told(4), PASSED),
    (told(3), FAILED),
    (told(5), FAILED),
    (told(16, replicas="4"), PASSED),
    (told(4, replicas="4"), FAILED),
    (told(4, replicas="four"), NOT_PROVEN),
])  # fmt: skip
def test_every_gpu_of_the_type_can_be_had_in_all_its_parts(found: NodeFacts, outcome: Outcome) -> None:
    assert allocatable(found, kind()).outcome is outcome


def test_slices_are_counted_by_what_the_lab_asks_for() -> None:
    assert allocatable(told(28, product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), kind(), 7).passed
    short = allocatable(told(27, product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), kind(), 7)
    assert (short.outcome, short.reason) == (
        FAILED,
        reason("check.node.allocatable", allocatable=27, expected=28),
    )


def test_a_sliced_gpu_is_known_by_its_model_and_its_slices_are_not_counted() -> None:
    sliced = told(count="56", product="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb")

    said = labels(sliced, kind("p4d.24xlarge"), discovery=True)
    assert isinstance(said, Verdict)
    assert (said.outcome, said.reason) == (
        PASSED,
        reason("check.node.labelled", counted="56", model="NVIDIA A100-SXM4-40GB"),
    )
    other = labels(told(product="Tesla-T4-MIG-1g.5gb"), kind("p4d.24xlarge"), discovery=True)
    assert isinstance(other, Verdict)
    assert other.reason == reason(
        "check.node.other-model", model="Tesla-T4", type="p4d.24xlarge", expected="NVIDIA A100-SXM4-40GB"
    )


@pytest.mark.parametrize("stack", ["device-plugin", "built-in"])
def test_what_needs_the_operator_is_not_proven_without_it(stack: GpuStack) -> None:
    why = validator(stack)
    assert why == reason("check.node.no-operator")
    assert str(why) == "not proven: no GPU Operator"
    assert validator("operator") is None


def test_without_discovery_labels_are_not_judged() -> None:
    assert labels(told(without="nvidia.com/gpu.count"), kind(), discovery=False) == (
        reason("check.node.no-discovery")
    )


def watched(status: str, reason: Said = "", message: str = "") -> NodeFacts:
    condition = {
        "type": "AcceleratedHardwareReady",
        "status": status,
        "reason": reason,
        "message": message,
    }
    item: dict[str, Any] = {
        "metadata": {"name": "a", "creationTimestamp": "2026-11-20T11:00:00Z"},
        "status": {"conditions": [condition]},
    }
    return node_facts(item)


def judged(found: NodeFacts, printed: str | None) -> Verdict:
    said = xid(found, printed, NOW)
    assert isinstance(said, Verdict)
    return said


def test_a_fatal_xid_fails_unless_it_is_older_than_the_node_or_the_plugin_ignores_it() -> None:
    line = "E11{} 11:05:01.000000 1 health.go:135] XidCriticalError: Xid=79 on Device=GPU-1, unhealthy"
    found = judged(told(), f"I1120 11:00:05 server.go] Registered\n{line.format(20)}\n")
    assert (found.outcome, found.measurements["xid"]) == (FAILED, 79)
    assert judged(told(), line.format(19)).passed
    assert judged(told(), "NVRM: Xid (PCI:0000:00:1e): 31, pid=1").passed


def test_nvidia_s_advice_says_nothing_of_an_error_after_it() -> None:
    advice = "NVRM: Xid (PCI:0000:00:1e): 154, GPU recovery action changed from 0x1 (Reset) to 0x0 (None)"
    assert judged(told(), advice).passed
    lost = judged(told(), f"{advice}\nNVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus")
    assert lost.outcome is FAILED


def test_each_error_of_a_line_is_of_its_own_gpu() -> None:
    others = "NVRM: Xid (PCI:0000:00:1f): 154, GPU recovery action changed from 0x1 (Reset) to 0x0 (None)"
    found = judged(told(), f"NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus {others}")
    assert (found.outcome, found.measurements["xid"]) == (FAILED, 79)


def test_of_a_log_that_is_one_line_each_error_has_a_part_of_bounded_length() -> None:
    line = "NVRM: Xid (PCI:0000:00:1e): 31, pid=1 " * 2_000 + "x" * 5_000
    assert judged(told(), line).passed
    parts = [part for _, part in xids(line, NOW, NOW)]
    assert len(parts) == 2_000
    assert max(map(len, parts)) == 1_000


def test_the_monitoring_agent_s_word_fails_too() -> None:
    found = judged(watched("False", "NvidiaXID79Error", "GPU has fallen off the bus"), None)
    assert found.outcome is FAILED
    assert "XID 79" in str(found.reason)
    assert judged(watched("True"), None).passed


def test_the_table_has_every_family_and_says_where_each_figure_comes_from() -> None:
    families = {name.partition(".")[0] for name in types()}
    assert families >= {"g4dn", "g5", "g5g", "g6", "g6e", "g6f", "g7", "g7e", "gr6", "gr6f"}
    assert families >= {"p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300"}
    assert {name: each.count for name, each in types().items()} == {
        name: row["gpus"] for name, row in ec2_types() if name in types()
    }
    assert all(each.source and each.unit for each in figures().values())
    assert "estimate" in figures()["bus_bandwidth"].source
    assert {name: each.most for name, each in figures().items() if each.most is not None} == {
        "uncorrected_ecc": "0",
        "remapped_rows_pending": "0",
        "remapped_rows_failure": "0",
        "event_reasons": "0x5",
        "wrong_values": "0",
    }
    assert all(each.busbw_floor > 0 and each.count > 0 and each.names for each in types().values())


def test_where_nothing_labels_nodes_shares_are_counted_as_they_were_asked_for() -> None:
    bare = NodeFacts("a", "i-1", NOW, ready=True, allocatable={"nvidia.com/gpu": 16})
    assert allocatable(bare, kind(), replicas_asked=4).outcome is PASSED
    assert allocatable(bare, kind()).outcome is FAILED
