"""When a GPU node is ready: each unmet condition is a reason, and the operator's word alone is not enough."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.gpu.readiness import GpuSignals, not_ready_because
from lamplighter.domain.pool.nodes import NodeFacts, NodeTaint, PodFacts
from lamplighter.reasons.reason import reason

NOW = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
LABELS = {
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.replicas": "1",
    "nvidia.com/cuda.driver-version.full": "580.159.03",
}
NODE = NodeFacts(
    name="gpu-1",
    instance="i-1",
    created=NOW,
    ready=True,
    taints=(NodeTaint("nvidia.com/gpu", "true", "NoSchedule"),),
    labels=LABELS,
    capacity={"nvidia.com/gpu": 1},
    allocatable={"nvidia.com/gpu": 1},
)
VALIDATOR = PodFacts(
    "gpu-operator", "nvidia-operator-validator-x", "gpu-1", "Running", NOW + timedelta(minutes=2), ready=True
)
OPERATOR = GpuSignals(validators=[VALIDATOR])
AUTO_MODE = {"eks.amazonaws.com/compute-type": "auto"}


def test_a_name_that_the_resource_had_before_counts_no_more() -> None:
    renamed = replace(
        NODE,
        labels=LABELS | {"nvidia.com/gpu.replicas": "4"},
        capacity={"nvidia.com/gpu": 1, "nvidia.com/gpu.shared": 4},
        allocatable={"nvidia.com/gpu": 0, "nvidia.com/gpu.shared": 4},
    )
    assert not_ready_because(renamed, 1, OPERATOR) == []


def test_slices_that_are_all_alike_are_counted_as_gpus() -> None:
    sliced = replace(
        NODE,
        labels=LABELS | {"nvidia.com/gpu.count": "7"},
        capacity={"nvidia.com/gpu": 7},
        allocatable={"nvidia.com/gpu": 7},
    )
    assert not_ready_because(sliced, 1, OPERATOR, slices=7) == []
    assert not_ready_because(sliced, 1, OPERATOR) != []


@pytest.mark.parametrize(("changed", "because"), [
    ({"ready": False, "ready_message": "cni plugin not initialized"},
     reason("gpu.kubelet-not-ready-because", words="cni plugin not initialized")),
    ({"taints": (NodeTaint("node.kubernetes.io/not-ready", "", "NoSchedule"),)},
     reason("gpu.startup-taint", taint="node.kubernetes.io/not-ready:NoSchedule")),
    ({"cordoned": True}, reason("gpu.cordoned")),
    ({"capacity": {}, "allocatable": {}}, reason("gpu.not-announced")),
    ({"allocatable": {"nvidia.com/gpu": 0}}, reason("gpu.allocatable", allocatable=0, expected=1)),
    ({"capacity": {"nvidia.com/gpu": 2}}, reason("gpu.capacity", capacity=2, expected=1)),
    ({"labels": LABELS | {"nvidia.com/gpu.count": "2"}}, reason("gpu.counted", counted="2", expected=1)),
    ({"labels": {"nvidia.com/gpu.count": "1"}}, reason("gpu.no-driver")),
    # What can be allocated is named before a capacity that differs.
    ({"capacity": {"nvidia.com/gpu": 2}, "allocatable": {"nvidia.com/gpu": 2}},
     reason("gpu.allocatable", allocatable=2, expected=1)),
    # A cordon is named once and is no startup taint.
    ({"cordoned": True, "taints": (NodeTaint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)},
     reason("gpu.cordoned")),
    # A count of replicas that cannot be read is one.
    ({"labels": LABELS | {"nvidia.com/gpu.replicas": "x"}}, None),
    ({}, None),
])  # fmt: skip
def test_each_missing_condition_is_a_sentence(changed: dict[str, object], because: str | None) -> None:
    found = not_ready_because(replace(NODE, **changed), 1, OPERATOR)  # type: ignore[arg-type]
    assert found == ([] if because is None else [because])


@pytest.mark.parametrize(("pods", "because"), [
    ([], reason("gpu.no-validator")),
    ([replace(VALIDATOR, node="gpu-2")], reason("gpu.no-validator")),
    ([replace(VALIDATOR, leaving=True)], reason("gpu.no-validator")),
    ([replace(VALIDATOR, ready=False, waiting="PodInitializing")],
     reason("gpu.validator-not-ready-because", words="PodInitializing")),
    ([replace(VALIDATOR, created=NOW - timedelta(minutes=1))], reason("gpu.validator-older-than-node")),
])  # fmt: skip
def test_the_validator_must_have_got_through_on_this_very_node(pods: list[PodFacts], because: str) -> None:
    assert not_ready_because(NODE, 1, GpuSignals(validators=pods)) == [because]


def test_shared_gpus_count_as_seats() -> None:
    shared = replace(
        NODE,
        labels=LABELS | {"nvidia.com/gpu.replicas": "4"},
        capacity={"nvidia.com/gpu.shared": 4},
        allocatable={"nvidia.com/gpu.shared": 4},
    )
    assert not_ready_because(shared, 1, OPERATOR) == []
    assert not_ready_because(replace(shared, allocatable={"nvidia.com/gpu.shared": 3}), 1, OPERATOR) == [
        reason("gpu.allocatable", allocatable=3, expected=4)
    ]


def test_where_no_operator_validates_what_can_be_allocated_decides() -> None:
    plain = replace(NODE, labels={}, capacity={"nvidia.com/gpu": 2})
    built_in = GpuSignals("built-in", discovery=False)
    assert not_ready_because(plain, 1, built_in) == []
    assert not_ready_because(replace(plain, allocatable={"nvidia.com/gpu": 0}), 1, built_in) == [
        reason("gpu.allocatable", allocatable=0, expected=1)
    ]
    assert not_ready_because(replace(plain, capacity={}, allocatable={}), 1, built_in) == [
        reason("gpu.not-announced")
    ]
    assert not_ready_because(replace(plain, ready=False), 1, built_in) == [reason("gpu.kubelet-not-ready")]
    assert not_ready_because(replace(plain, labels=AUTO_MODE), 1, OPERATOR) == []


def test_the_device_plugin_s_chart_validates_nothing_but_its_counts_must_agree() -> None:
    plain, chart = replace(NODE, labels={}), GpuSignals("device-plugin", discovery=False)
    assert not_ready_because(plain, 1, chart) == []
    assert not_ready_because(plain, 4, chart) == [reason("gpu.allocatable", allocatable=1, expected=4)]
    assert not_ready_because(replace(plain, capacity={"nvidia.com/gpu": 2}), 1, chart) == [
        reason("gpu.capacity", capacity=2, expected=1)
    ]
    four = {"nvidia.com/gpu": 4}
    assert not_ready_because(replace(plain, capacity=four, allocatable=four), 1, chart, replicas=4) == []
    assert not_ready_because(plain, 1, chart, replicas=4) == [
        reason("gpu.allocatable", allocatable=1, expected=4)
    ]


def test_with_feature_discovery_the_chart_s_nodes_must_have_its_labels() -> None:
    chart = GpuSignals("device-plugin", discovery=True)
    assert not_ready_because(NODE, 1, chart) == []
    assert not_ready_because(replace(NODE, labels={}), 1, chart) == [reason("gpu.not-labelled")]


def test_a_type_that_nobody_knows_has_as_many_gpus_as_are_counted() -> None:
    two = replace(
        NODE,
        labels=LABELS | {"nvidia.com/gpu.count": "2"},
        capacity={"nvidia.com/gpu": 2},
        allocatable={"nvidia.com/gpu": 2},
    )
    assert not_ready_because(two, None, OPERATOR) == []


@pytest.mark.parametrize(("labels", "offered", "because"), [
    ({}, 1, []),
    ({}, 4, []),
    ({}, 0, [reason("gpu.allocatable", allocatable=0, expected=1)]),
    ({"nvidia.com/gpu.count": "4"}, 2, [reason("gpu.allocatable", allocatable=2, expected=4)]),
    ({"nvidia.com/gpu.count": "odd"}, 2, []),
])  # fmt: skip
def test_of_a_type_that_nobody_knows_at_least_one_gpu_is_expected(
    labels: dict[str, str], offered: int, because: list[str]
) -> None:
    one = replace(NODE, labels=labels, allocatable={"nvidia.com/gpu": offered})
    assert not_ready_because(one, None, GpuSignals("built-in", discovery=False)) == because


@pytest.mark.parametrize(("key", "starts"), [
    ("node.cloudprovider.kubernetes.io/uninitialized", True),
    ("node.cilium.io/agent-not-ready", True),
    ("ebs.csi.aws.com/startup", True),
    ("lab/agent", False),
])  # fmt: skip
def test_a_taint_of_the_start_is_known_by_how_it_begins_or_ends(key: str, starts: bool) -> None:
    said = not_ready_because(replace(NODE, taints=(NodeTaint(key, "", "NoSchedule"),)), 1, OPERATOR)
    assert said == ([reason("gpu.startup-taint", taint=f"{key}:NoSchedule")] if starts else [])


def test_what_can_be_allocated_is_announced_though_no_capacity_is_told_yet() -> None:
    built_in = GpuSignals("built-in", discovery=False)
    assert not_ready_because(replace(NODE, capacity={}), 1, built_in) == []
    assert not_ready_because(replace(NODE, allocatable={}), 1, built_in) == [
        reason("gpu.allocatable", allocatable=0, expected=1)
    ]


def test_a_validator_of_the_node_s_own_second_is_new_and_each_must_be_both_new_and_ready() -> None:
    old = replace(VALIDATOR, created=NOW - timedelta(seconds=1))

    assert not_ready_because(NODE, 1, GpuSignals(validators=[replace(VALIDATOR, created=NOW)])) == []
    assert not_ready_because(NODE, 1, GpuSignals(validators=[old, VALIDATOR])) == []
    assert not_ready_because(NODE, 1, GpuSignals(validators=[old, replace(VALIDATOR, ready=False)])) == [
        reason("gpu.validator-older-than-node")
    ]
