"""A lab with Karpenter beside a node group: opened, deployed again at rest and in a lease, closed and destroyed in one.

The controller is the real one.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter.domain.leases.lease import LeaseState
from local.cloud import COMPLETE
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long

LAB = """
name: demo
cluster: {karpenter: {version: 1.14.3}}
pools:
  gpu: {kind: karpenter, drain: 1m}
  groups: {max_nodes: 2}
"""
#: A change of the nodes of the pool, and one of the other pool alone.
LARGER = LAB.replace("drain: 1m", "drain: 1m, disk_gib: 200")
MORE = LAB.replace("max_nodes: 2", "max_nodes: 3")
POOL = "demo-gpu"
#: Karpenter's controller works in real time: a real second is so many of the lab's.
RATE = 4


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterDay]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB, rate=RATE) as cloud:
        yield KarpenterDay(cloud)


@pytest.fixture(scope="module")
def opened(day: KarpenterDay) -> str:
    """A lease that is open, with proven GPUs."""
    return day.open(1, "1h", "--wait").id


def test_a_nodepool_that_is_scaled_by_hand_starts_nothing(day: KarpenterDay) -> None:
    day.scale(1)

    refused = f"lamplighter: no lease for NodePool {POOL}"
    day.await_(
        "the API server refuses a claim", lambda: refused in day.karpenter_says(), timedelta(minutes=12)
    )
    assert day.claims() == []
    assert day.instances() == []
    day.scale(0)


def test_the_same_lab_again_changes_nothing(day: KarpenterDay) -> None:
    before = day.specifications()

    ended = day.cloud.redeploy()

    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert day.specifications() == before
    assert (day.replicas(), day.bar()) == (0, None)


def test_a_lease_has_its_node(day: KarpenterDay, opened: str) -> None:
    [claim] = day.claims()

    assert opened
    assert day.instances() == [claim["status"]["providerID"].rpartition("/")[2]]


def test_a_deploy_that_changes_the_pool_waits_for_the_end_of_the_lease(
    day: KarpenterDay, opened: str, tmp_path: Path
) -> None:
    """Law 5: a deploy never takes a leased node, and a refused one changes nothing."""
    before = day.instances()
    larger = tmp_path / "lab.yaml"
    larger.write_text(LARGER, "utf-8")

    [cluster] = day.cloud.redeploy(larger)

    assert cluster.status == "UPDATE_ROLLBACK_COMPLETE"
    assert opened in cluster.failure()
    assert day.instances() == before
    assert day.replicas() == 1


def test_a_deploy_that_changes_another_pool_keeps_the_lease(
    day: KarpenterDay, opened: str, tmp_path: Path
) -> None:
    before, bar = day.instances(), day.bar()
    more = tmp_path / "lab.yaml"
    more.write_text(MORE, "utf-8")

    ended = day.cloud.redeploy(more)

    assert {stack.status for stack in ended} <= COMPLETE, [stack.failure() for stack in ended]
    assert opened
    assert day.instances() == before
    assert (day.replicas(), day.bar()) == (1, bar)
    assert bar is not None


def test_the_end_of_a_lease_leaves_nothing(day: KarpenterDay, opened: str) -> None:
    assert day.command("close", "gpu").code == 0

    day.await_("there is a receipt", lambda: bool(day.receipts(opened)), timedelta(minutes=20))

    [receipt] = day.receipts(opened)
    assert receipt["proof_of_zero"]["instances"] == []
    # Beside the boot of the node, its claim's way: Karpenter's real conditions.
    assert {"claim-launched", "claim-registered", "claim-initialized", "joined"} <= {*receipt["stages"]}
    assert day.instances() == []
    day.await_("the claim is gone", lambda: day.claims() == [], timedelta(minutes=15))
    assert day.replicas() == 0


def test_a_destroy_in_a_lease_leaves_nothing(day: KarpenterDay) -> None:
    day.until_state(day.open(1, "1h").id, LeaseState.OPEN)
    assert len(day.instances()) == 1

    for stack in ("demo-controller", "demo-cluster"):
        ended = day.cloud.destroy(stack)
        assert ended.status == "DELETE_COMPLETE", ended.failure()

    assert day.instances() == []
    templates = json.dumps(day.api("ec2").describe_launch_templates()["LaunchTemplates"], default=str)
    assert "karpenter" not in templates
