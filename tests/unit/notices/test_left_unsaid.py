"""What nobody says of a node, a pod or a pool is not so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.pool.nodes import NodeFacts, NodeTaint, PodFacts
from lamplighter.domain.pool.pool import DeployMark, Phase, PoolState

NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_a_node_of_which_only_the_name_is_known_is_not_ready_and_has_nothing() -> None:
    bare = NodeFacts("a", "i-1", NOW)
    assert bare == NodeFacts("a", "i-1", NOW, ready=False, cordoned=False, protected=False, monitored=False)
    assert bare == replace(bare, ready_message="", taints=(), ready_since=None, hardware_fault="")
    assert bare == replace(bare, labels={}, capacity={}, allocatable={}, annotations={})
    assert (bare.instance_type, bare.zone, bare.sliced, bare.gpus) == ("", "", False, 0)


def test_a_pod_of_which_only_the_phase_is_known_holds_nothing() -> None:
    bare = PodFacts("lab", "train", "a", "Pending", NOW)
    assert bare == replace(bare, ready=False, daemon=False, mirror=False, leaving=False, accelerated=False)
    assert bare == replace(bare, gpus=0, labels={}, annotations={}, waiting="")
    assert bare == replace(bare, exit_code=None, scheduled=None, began=None, ended=None)


def test_a_pool_that_nobody_touched_is_closed_and_nobody_holds_it() -> None:
    assert PoolState(name="gpu", generation=0, phase=Phase.CLOSED, fence=0, holder=None) == PoolState("gpu")


@pytest.mark.parametrize(
    ("allocatable", "product", "sliced"),
    [
        ({"nvidia.com/gpu": 8}, "", False),
        ({"nvidia.com/mig-1g.10gb": 0, "nvidia.com/gpu": 8}, "", False),
        ({"nvidia.com/mig-1g.10gb": 7}, "", True),
        ({"nvidia.com/gpu": 7}, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", True),
        ({"nvidia.com/mig-1g.10gb": 7}, "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", True),
        ({"nvidia.com/gpu": 8}, "NVIDIA-A100-SXM4-40GB", False),
    ],
)
def test_gpus_are_sliced_by_a_slice_that_can_be_had_or_by_the_product_s_name(
    allocatable: dict[str, int], product: str, *, sliced: bool
) -> None:
    node = NodeFacts("a", "i-1", NOW, labels={"nvidia.com/gpu.product": product}, allocatable=allocatable)
    assert node.sliced is sliced


def test_a_taint_is_written_as_kubectl_does() -> None:
    assert str(NodeTaint("nvidia.com/gpu", "true", "NoSchedule")) == "nvidia.com/gpu=true:NoSchedule"
    assert str(NodeTaint("nvidia.com/gpu", "", "NoSchedule")) == "nvidia.com/gpu:NoSchedule"


@pytest.mark.parametrize(("phase", "finished"), [("Succeeded", True), ("Failed", True), ("Running", False)])
def test_a_pod_is_finished_however_it_ended(phase: str, *, finished: bool) -> None:
    assert PodFacts("lab", "train", "a", phase, NOW).finished is finished


def test_a_deploy_s_mark_stands_until_its_end_and_says_itself_that_the_pool_is_empty() -> None:
    mark = DeployMark(NOW)
    assert [mark.stands(NOW + after) for after in (-SECOND, 0 * SECOND, SECOND)] == [True, False, False]
    assert not mark.empty
