"""A window shares its GPUs for a class and changes the operator. Its close dies while it restores them; still all is as
before, and the class's quota is zero."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from lamplighter.domain.classes.objects import NAME
from lamplighter.reasons.document import read
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story
from tests.steady.hang import HANG_SECONDS

QUOTA = f"/api/v1/namespaces/gpu-101/resourcequotas/{NAME}"
POLICY = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
#: The number of times that the workflow tries a failing step.
TRIES = 6


@pytest.mark.long
@story("seats")
def test_a_shared_window_has_seats_and_leaves_the_operator_as_it_was(pool: Pool) -> Story:
    # given a window that shares each GPU by four and switches the exporter off
    lease, before = pool.lease("class-2026-12-01"), policy(pool)
    assert before["spec"]["dcgmExporter"]["enabled"] is True
    # when it is open, then the nodes offer eight seats, and status says so
    yield pool.opened(lease)
    (seats,) = (row["seats"] for row in status(pool)["pools"])
    assert (seats["count"], seats["replicas"], seats["strategy"], seats["seen"]) == (
        8,
        4,
        "time-slicing",
        True,
    )
    labels = [node["metadata"]["labels"] for node in nodes(pool)]
    assert {each["nvidia.com/gpu.replicas"] for each in labels} == {"4"}
    assert all(each["nvidia.com/gpu.product"].endswith("-SHARED") for each in labels)
    assert policy(pool)["spec"]["dcgmExporter"]["enabled"] is False
    hard = quota(pool)
    none_of = {name.partition("/")[0] for name, amount in hard.items() if amount == "0"}
    assert none_of == {"requests.nvidia.com", "requests.vpc.amazonaws.com"}
    assert {name: amount for name, amount in hard.items() if amount != "0"} == {
        "requests.cpu": "8",
        "limits.cpu": "8",
        "requests.memory": "16Gi",
        "limits.memory": "16Gi",
        "requests.nvidia.com/gpu": "8",
    }

    # when the step that gives back dies, however often the workflow asks it
    pool.day.cloud.faults.kill_step("GiveBack", pool.name, times=TRIES)
    yield pool.closed(lease)
    assert set(quota(pool).values()) == {"0"}
    yield pool.zero()
    # then the guard has it given back, and nothing of ours is left on it
    yield pool.until("the operator is as before", lambda: is_helms(policy(pool), before), minutes=30)
    settings = pool.receipt(lease.id)["settings"]
    assert str(read(settings["asked"])) == "shared by 4 pods (time-slicing)"
    assert settings["before"]["cluster_policy"] == {"dcgmExporter.enabled": True}
    assert settings["during"]["cluster_policy"] == {"dcgmExporter.enabled": False}
    pool.verdicts(1, 8)


def is_helms(now: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """The values are restored first; then we give up the fields."""
    managers = {entry["manager"] for entry in now["metadata"]["managedFields"]}
    return now["spec"] == before["spec"] and "lamplighter" not in managers


def policy(pool: Pool) -> dict[str, Any]:
    return pool.day.cloud.control_plane.admin().get(POLICY)


def quota(pool: Pool) -> dict[str, str]:
    """What the class may have."""
    found: dict[str, str] = pool.day.cloud.control_plane.admin().get(QUOTA)["spec"]["hard"]
    return found


def nodes(pool: Pool) -> list[dict[str, Any]]:
    group = pool.day.cloud.lab.nodegroup_name(pool.name)
    path = f"/api/v1/nodes?labelSelector=eks.amazonaws.com/nodegroup%3D{group}"
    found: list[dict[str, Any]] = pool.day.cloud.control_plane.admin().get(path)["items"]
    return found


def status(pool: Pool) -> Mapping[str, Any]:
    """The command line's word, as a program of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "status", pool.name, "--json"],
        env={**os.environ, **pool.day.cloud.played()},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found
