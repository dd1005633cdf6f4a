"""The world itself: a whole window in it, and that it fails loudly where it does not know a call."""

from datetime import UTC, datetime, timedelta

import boto3
import pytest

from tests.world.outside import NotInTheWorld
from tests.world.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LAB = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "windows": [{"name": "evening", "days": "daily", "start": "20:00", "end": "23:00", "nodes": 1}],
}


def test_a_window_opens_runs_and_closes() -> None:
    with World(LAB, NOON) as world:
        world.run(timedelta(hours=9))
        during = len(world.machines.of_pool("gpu"))
        world.run(timedelta(hours=3))

        assert (during, len(world.machines.of_pool("gpu"))) == (1, 0)
        states = {execution.name: execution.status for execution in world.workflows.executions.values()}
        assert states == {
            "open-evening-2026-11-20-20261120T200000Z": "SUCCEEDED",
            "close-evening-2026-11-20-20261120T230000Z": "SUCCEEDED",
        }
        said = " ".join(text for _, _, text in world.said)
        assert "is open" in said
        assert "is closing" in said


def test_the_same_seed_is_the_same_history() -> None:
    stories = []
    for _ in range(2):
        with World(LAB, NOON, seed=7) as world:
            world.run(timedelta(hours=12))
            stories.append((world.said, world.functions.calls))

    assert stories[0] == stories[1]


def test_a_call_that_the_world_does_not_know_fails_by_its_name() -> None:
    with World(LAB, NOON), pytest.raises(NotInTheWorld, match=r"no ec2\.describe_vpcs yet: add it"):
        boto3.client("ec2").describe_vpcs()


def test_a_service_that_the_world_does_not_know_fails_by_its_name() -> None:
    with World(LAB, NOON), pytest.raises(NotInTheWorld, match="no service s3 yet"):
        boto3.client("s3")
