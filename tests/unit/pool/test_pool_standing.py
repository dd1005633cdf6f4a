"""Open windows without a lease and why; when the GPUs of a node are ready; which other resources a lab pays for."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from lamplighter.data import prices
from lamplighter.data import standing as shipped
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.gpu.readiness import GpuSignals, not_ready_because
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.shares import Claim, shares
from lamplighter.domain.money.unguarded import unguarded
from lamplighter.domain.pool.explanation import PoolExplanation, UnmetWindow, standing
from lamplighter.domain.pool.nodes import NodeFacts, NodeTaint, PodFacts
from lamplighter.domain.pool.pool import DeployMark
from lamplighter.domain.pool.target import Target
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, reason
from tests.builders.leases import EIGHT, HOUR, SECOND, lease

OPENS = EIGHT
_BEGINS = int(OPENS.timestamp())
WINDOW = PlannedWindow("evening", "gpu", date(2026, 11, 20), 2, _BEGINS, _BEGINS + 7200, (), "class", 0)
LEASE = lease("evening-2026-11-20", window="evening")
ASKS = "window evening asks for 2 nodes until 22:00 UTC on 2026-11-20;"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"state": LeaseState.REFUSED}, "its lease was refused"),
        ({"state": LeaseState.REFUSED, "because": "no money"}, "its lease was refused: no money"),
        ({"state": LeaseState.PLANNED}, "its lease is planned and not decided yet"),
        ({"opens": OPENS + SECOND}, "its lease opens at 20:00 UTC on 2026-11-20"),
        ({"closes": OPENS}, "its lease was closed before its end"),
        ({"state": LeaseState.CLOSED, "opens": OPENS + SECOND}, "its lease was closed before its end"),
        (
            {"state": LeaseState.CLOSED, "because": "the exam is over"},
            "its lease was closed before its end: the exam is over",
        ),
    ],
)
def test_a_window_without_a_lease_in_force_says_why(changed: dict[str, Any], why: str) -> None:
    lease = replace(LEASE, **changed)
    found = standing([WINDOW], [replace(LEASE, id="other", state=LeaseState.CLOSED), lease], OPENS, 2)
    assert found == PoolExplanation(Target(0, ()), (UnmetWindow(WINDOW, lease, OPENS),))
    assert str(found.unmet[0].reason) == f"{ASKS} {why}"


def test_a_window_with_its_lease_is_met_and_others_beside_it_are_not() -> None:
    late = WINDOW._replace(window="late", order=1)
    alone = standing([], [LEASE], OPENS, 2)

    assert standing([WINDOW], [LEASE], OPENS, 2) == alone == PoolExplanation(Target(2, (LEASE,)), ())
    assert standing([WINDOW, late], [LEASE], OPENS, 2).unmet == (UnmetWindow(late, None, OPENS),)
    assert standing([], [], OPENS, 2) == PoolExplanation(Target(0, ()), ())


def test_of_several_skips_of_a_date_the_first_is_named() -> None:
    skips = [Skip("evening", on, by, OPENS, because) for on, by, because in (
        ("2026-11-21", "carol", None), ("2026-11-20", "alice", "rain"), ("2026-11-20", "bob", None),
    )]  # fmt: skip

    (unmet,) = standing([WINDOW], [], OPENS, 2, skips).unmet

    assert unmet.to_json() == {
        "window": "evening",
        "date": "2026-11-20",
        "nodes": 2,
        "opens": "2026-11-20T20:00:00Z",
        "closes": "2026-11-20T22:00:00Z",
        "reason": f"{ASKS} alice skipped it because rain",
    }
    [never_planned] = standing([WINDOW], [], OPENS, 2).unmet
    assert str(never_planned.reason) == f"{ASKS} it has no lease yet: the planner has not planned it"


@pytest.mark.parametrize(
    ("running", "each"), [(0, (0, 0)), (1, (1, 0)), (2, (2, 0)), (3, (2, 1)), (9, (2, 2))]
)
def test_nodes_belong_to_the_leases_in_the_order_of_opening(running: int, each: tuple[int, int]) -> None:
    claims = [Claim(OPENS + HOUR, "a", 2), Claim(OPENS, "b", 2)]
    found = shares(claims, {f"i-{number}": "g5.xlarge" for number in range(running)})
    assert {lease: len(nodes) for lease, nodes in found.items()} == {"b": each[0], "a": each[1]}


def test_a_node_of_another_type_belongs_to_no_lease() -> None:
    claims = [Claim(OPENS + HOUR, "any", 1), Claim(OPENS, "cheap", 2, ("g5.xlarge",))]
    running = {"i-dear": "p5.48xlarge", "i-cheap": "g5.xlarge", "i-unknown": ""}
    assert shares(claims, running) == {"cheap": ["i-cheap", "i-unknown"], "any": ["i-dear"]}


@pytest.mark.parametrize(("seconds", "stands"), [(-1, True), (0, False), (1, False)])
def test_a_deploys_mark_stands_until_before_its_end(seconds: int, *, stands: bool) -> None:
    assert DeployMark(OPENS).stands(OPENS + seconds * SECOND) is stands


LABELS = {"nvidia.com/gpu.count": "4", "nvidia.com/cuda.driver.major": "580"}
NODE = NodeFacts(
    name="gpu-1",
    instance="i-1",
    created=OPENS,
    ready=True,
    labels=LABELS,
    capacity={"nvidia.com/gpu": 4},
    allocatable={"nvidia.com/gpu": 4},
)
POD = PodFacts("gpu-operator", "validator", "gpu-1", "Running", OPENS, ready=True)
CHART = GpuSignals("device-plugin")


@pytest.mark.parametrize(
    ("taint", "waits"),
    [
        ("node.kubernetes.io/not-ready", True),
        ("node.cloudprovider.kubernetes.io/uninitialized", True),
        ("node.cilium.io/agent-not-ready", True),
        ("x/startup", True),
        ("node.kubernetes.io/unschedulable", False),
        ("nvidia.com/gpu", False),
    ],
)
def test_only_a_taint_of_the_start_keeps_a_node_from_being_ready(taint: str, *, waits: bool) -> None:
    tainted = replace(NODE, taints=(NodeTaint(taint, "", "NoSchedule"),))
    found = not_ready_because(tainted, 4, CHART)
    assert found == ([reason("gpu.startup-taint", taint=f"{taint}:NoSchedule")] if waits else [])


def offered(allocatable: int, expected: int) -> Reason:
    return reason("gpu.allocatable", allocatable=allocatable, expected=expected)


def test_a_type_that_nobody_knows_has_the_gpus_that_are_labelled_else_those_that_are_there() -> None:
    unlabelled = replace(NODE, labels={})
    plain = GpuSignals("built-in", discovery=False)
    none = replace(unlabelled, allocatable={"nvidia.com/gpu": 0})

    assert not_ready_because(NODE, None, CHART) == not_ready_because(unlabelled, None, plain) == []
    assert not_ready_because(none, None, plain) == [offered(0, 1)]
    three = replace(NODE, labels=LABELS | {"nvidia.com/gpu.count": "3"})
    assert offered(4, 3) in not_ready_because(three, None, CHART)


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({"ready": False}, [reason("gpu.kubelet-not-ready")]),
        (
            {"ready": False, "ready_message": "no network"},
            [reason("gpu.kubelet-not-ready-because", words="no network")],
        ),
        ({"allocatable": {}}, [offered(0, 4)]),
        ({"capacity": {}}, [reason("gpu.capacity", capacity=0, expected=4)]),
        ({"capacity": {}, "allocatable": {}}, [reason("gpu.not-announced")]),
        ({"labels": {}}, [reason("gpu.not-labelled")]),
    ],
)
def test_what_a_node_does_not_show_yet_is_said(changed: dict[str, Any], because: list[Reason]) -> None:
    assert not_ready_because(replace(NODE, **changed), 4, CHART) == because


@pytest.mark.parametrize(("count", "ready"), [("4", True), ("8", True), ("6", False), ("2", False)])
def test_slices_count_as_they_are_or_as_the_gpus_they_are_of(count: str, *, ready: bool) -> None:
    sliced = {"nvidia.com/gpu": 8}
    node = replace(NODE, capacity=sliced, allocatable=sliced, labels=LABELS | {"nvidia.com/gpu.count": count})

    found = not_ready_because(node, 4, CHART, slices=2)

    wrong = reason("gpu.counted", counted=count, expected=4)
    assert found == ([] if ready else [wrong])


def test_replicas_are_those_of_the_label_and_only_without_discovery_those_of_the_lab() -> None:
    shared = {"nvidia.com/gpu": 8}
    twice = replace(NODE, capacity=shared, allocatable=shared)
    labelled = replace(twice, labels=LABELS | {"nvidia.com/gpu.replicas": "2"})
    quiet = GpuSignals("device-plugin", discovery=False)

    assert not_ready_because(labelled, 4, CHART) == not_ready_because(twice, 4, quiet, replicas=2) == []
    assert not_ready_because(twice, 4, CHART, replicas=2) == [offered(8, 4)]
    assert not_ready_because(twice, 4, quiet) == [offered(8, 4)]


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({}, []),
        ({"node": "gpu-2"}, [reason("gpu.no-validator")]),
        ({"leaving": True}, [reason("gpu.no-validator")]),
        ({"ready": False}, [reason("gpu.validator-not-ready")]),
        (
            {"ready": False, "waiting": "ImagePullBackOff"},
            [reason("gpu.validator-not-ready-because", words="ImagePullBackOff")],
        ),
        ({"created": OPENS - SECOND}, [reason("gpu.validator-older-than-node")]),
    ],
)
def test_the_operator_must_have_validated_the_node(changed: dict[str, Any], because: list[Reason]) -> None:
    pods = [replace(POD, **changed)]
    assert not_ready_because(NODE, 4, GpuSignals(validators=pods)) == because
    assert not_ready_because(NODE, 4, GpuSignals("device-plugin", validators=pods)) == []


def test_what_stands_beside_the_pools_of_an_own_cluster_is_named_with_its_price() -> None:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"disk_gib": 100}, "auto": {}}})
    nodes = lab.cluster.system_nodes

    found = {str(item.what): item for item in unguarded(lab)}

    assert list(found)[:5] == [
        "EKS control plane",
        "NAT gateway",
        "public address",
        "system nodes",
        "volumes of system nodes",
    ]
    assert str(found["volumes of pool gpu"].counted) == "100 GiB for each node, while it runs"
    assert list(found)[-1] == "load balancers"
    control, volumes, system = (
        found[what] for what in ("EKS control plane", "volumes of pool gpu", "system nodes")
    )
    assert control.price == shipped.price(lab.region, "eks_cluster_hour")
    assert (volumes.price, str(volumes.per)) == (shipped.price(lab.region, "gp3_gib_month"), "GiB and month")
    assert system.price == prices.on_demand(lab.region, nodes.instance_type)
    assert control.to_json() == {
        "what": "EKS control plane",
        "counted": "1",
        "price": format(control.price or 0, "f"),
        "per": "hour",
        "currency": "USD",
    }
    assert str(control.cost) == f"{control.price} USD per hour"
    unknown = replace(control, price=None)
    assert (unknown.to_json()["price"], str(unknown.cost)) == (None, "not known here")


def test_node_groups_that_are_always_on_are_named_and_windows_has_no_price_here() -> None:
    groups = {"linux": {"nodes": 3}, "windows": {"ami_type": "WINDOWS_FULL_2022_x86_64"}}
    lab = Lab.model_validate({"name": "lab", "cluster": {"node_groups": groups}})

    found = {str(item.what): item for item in unguarded(lab)}

    linux, windows = found["node group linux"], found["node group windows"]
    assert (str(linux.counted), linux.price) == ("3 x m5.large", prices.on_demand(lab.region, "m5.large"))
    assert str(found["volumes of node group windows"].counted) == "2 x 50 GiB"
    # The table of prices is for Linux; Windows costs its licence as well.
    assert windows.price is None


def test_of_a_cluster_that_was_there_before_only_its_control_plane_is_named() -> None:
    document = {"name": "lab", "cluster": {"existing": "school"}, "pools": {"gpu": {}}}

    found = [(str(item.what), str(item.counted)) for item in unguarded(Lab.model_validate(document))]

    assert found[0] == ("EKS control plane", "1, of school")
    assert found[-1] == ("load balancers", "one for each of your services that makes one")
    assert {what for what, _ in found} <= {"EKS control plane", "volumes of pool gpu", "load balancers"}
