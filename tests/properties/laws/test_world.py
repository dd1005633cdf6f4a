"""The simulated world: a whole window in it, and that an unknown call fails by its name."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import boto3
import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from tests.world.aws import machines
from tests.world.kubernetes.kubernetes import Pod
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


def test_a_record_is_read_once_until_its_item_is_written_again_and_nobody_else_can_change_it() -> None:
    with World(LAB, NOON) as world:
        world.run(timedelta(minutes=5))
        ledger = Ledger("gpu-lab-ledger")
        lease = ledger.leases("gpu")[0]
        assert ledger.leases("gpu")[0] is lease

        key = {"pk": {"S": "POOL#gpu"}, "sk": {"S": f"LEASE#{lease.id}"}}
        given: dict[str, Any] = {
            "UpdateExpression": "SET nodes = :two",
            "ExpressionAttributeValues": {":two": {"N": "2"}},
        }
        stored = world.dynamodb.update_item(TableName="ledger", Key=key, ReturnValues="ALL_NEW", **given)

        assert ledger.leases("gpu")[0] == replace(lease, nodes=2)
        with pytest.raises(TypeError):
            stored["Attributes"]["nodes"] = {"N": "3"}


def test_functions_start_ahead_of_the_steps_that_people_wait_for() -> None:
    with World(LAB, NOON) as world:
        steps: dict[str, list[str]] = {"nodegroups": [], "notices": []}
        world.functions.seen = lambda made, _outcome: steps.get(made.function, []).append(made.step)
        world.run(timedelta(hours=9))

        assert steps["nodegroups"][:2] == ["Warm", "Scale"]
        assert steps["notices"][:2] == ["Warm", "Announce"]
        assert [steps[name].count("Warm") for name in steps] == [1, 1]


def test_images_of_the_first_checks_come_while_gpus_are_set_up_and_take_nothing_of_their_time() -> None:
    # The time from Ready to GPUs is nearly the ladder's whole limit; at most 90 s of it count.
    with patch.object(machines, "GPUS_READY", (118.0, 118.0)), World(LAB, NOON) as world:
        world.kubernetes.check_runs = (10.0, 11.0)
        asked: list[tuple[str, datetime]] = []
        adds = world.kubernetes._add

        def noted(pod: Pod) -> None:
            asked.append((pod.name.rpartition("-")[0], world.now))
            adds(pod)

        with patch.object(world.kubernetes, "_add", noted):
            world.run(timedelta(hours=8, minutes=30))

        order = [name for name, _ in asked if name.startswith(("ahead", "nvidia", "vector"))]
        at = dict(asked)
        assert order == ["ahead-cuda-sample", "nvidia-smi", "vectoradd"]
        assert at["nvidia-smi"] - at["ahead-cuda-sample"] > timedelta(seconds=90)
        assert [text for _, _, text in world.said if "not proven" in text] == []
        assert all(world.kubernetes._is_gone(pod) for pod in world.kubernetes.pods.values())


def test_a_check_whose_node_goes_before_its_pod_comes_waits_and_proves_nothing() -> None:
    with World(LAB, NOON) as world:
        creates = world.kubernetes._create
        waiting: list[str] = []

        def late(space: str, manifest: Any) -> tuple[int, Any]:
            if not waiting and manifest["metadata"]["labels"]["lamplighter/check"] == "nvidia-smi":
                (machine,) = world.kubernetes.nodes()
                world.machines.shut_down(machine)
                machine.ended = world.now - timedelta(minutes=1)
                waiting.append(manifest["metadata"]["name"])
            return creates(space, manifest)

        with patch.object(world.kubernetes, "_create", late):
            world.run(timedelta(hours=12))

        assert waiting
        assert [text for _, _, text in world.said if "are proven" in text] == []
        assert all(world.kubernetes._is_gone(pod) for pod in world.kubernetes.pods.values())
        assert world.machines.of_pool("gpu") == []


def test_how_often_a_schedule_is_put_changes_nothing_else_that_is_left_to_chance() -> None:
    ready = []
    for again in (0, 3):
        with World(LAB, NOON, seed=5) as world:
            world.run(timedelta(minutes=1))
            for name, entry in list(world.scheduler.entries.items()) * again:
                world.scheduler.update_schedule(**{**entry.asked, "Name": name})
            world.run(timedelta(hours=9))
            ready.append(world.said)

    assert ready[0] == ready[1]


def test_the_same_seed_is_the_same_history() -> None:
    stories = []
    for _ in range(2):
        with World(LAB, NOON, seed=7) as world:
            world.run(timedelta(hours=12))
            stories.append((world.said, world.functions.calls))

    assert stories[0] == stories[1]


def test_a_call_or_a_service_that_the_world_does_not_know_fails_by_its_name() -> None:
    with World(LAB, NOON), pytest.raises(NotInTheWorld, match=r"no ec2\.describe_vpcs yet: add it"):
        boto3.client("ec2").describe_vpcs()
    with World(LAB, NOON), pytest.raises(NotInTheWorld, match="no service efs yet"):
        boto3.client("efs")
