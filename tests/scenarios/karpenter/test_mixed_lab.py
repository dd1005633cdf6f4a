"""A lab with a node group and a NodePool: deployed again at rest and in a lease, and destroyed in a lease."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.cloud import COMPLETE
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long

LAB = """
name: mixed
cluster: {karpenter: {version: 1.14.3}}
pools:
  gpu: {kind: karpenter, drain: 1m}
  groups: {max_nodes: 2}
"""
#: A change of the other pool alone.
MORE = LAB.replace("max_nodes: 2", "max_nodes: 3")


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterDay]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield KarpenterDay(cloud)


@pytest.fixture(scope="module")
def instances(day: KarpenterDay) -> list[str]:
    """Those of a lease with proven GPUs."""
    said = day.command("open", "gpu", "1", "for", "1h", "--wait", "--json")
    assert said.code == 0, said
    return day.instances()


def test_the_same_lab_again_changes_nothing(day: KarpenterDay) -> None:
    before = day.specifications()

    ended = day.cloud.redeploy()

    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert day.specifications() == before
    assert (day.replicas(), day.bar()) == (0, None)


def test_a_deploy_that_changes_another_pool_keeps_the_lease(
    day: KarpenterDay, instances: list[str], tmp_path: Path
) -> None:
    bar = day.bar()
    more = tmp_path / "lab.yaml"
    more.write_text(MORE, "utf-8")

    ended = day.cloud.redeploy(more)

    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert day.instances() == instances
    assert (day.replicas(), day.bar()) == (1, bar)
    assert bar is not None


def test_a_destroy_in_a_lease_ends_at_zero(day: KarpenterDay, instances: list[str]) -> None:
    assert len(instances) == 1

    for stack in ("mixed-controller", "mixed-cluster"):
        ended = day.cloud.destroy(stack)
        assert ended.status == "DELETE_COMPLETE", ended.failure()

    assert day.instances() == []
    templates = json.dumps(day.api("ec2").describe_launch_templates()["LaunchTemplates"], default=str)
    assert "karpenter" not in templates
