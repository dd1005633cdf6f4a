"""How long the step Drain waits for pods on a NodePool: our own time, a shorter one of the pool, or not at all."""

from typing import Any

import pytest

from lamplighter.application.cluster.drain import drain
from lamplighter.application.cluster.run import Run
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.drain import LEAVING
from lamplighter.errors import TryLater
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.node_pool_on_moto import CORE, NODES, NodePoolOnMoto

POD = f"{CORE}/namespaces/class/pods/work-a"


class OfNoOther(Run):
    """A close of a pool without another lease."""

    def leases(self) -> list[Lease]:
        return []


def held(lab: LabOnMoto, **keys: Any) -> NodePoolOnMoto:
    """A node with a pod that its budget protects."""
    made = NodePoolOnMoto.on(lab, **keys)
    made.node(pods=True)
    made.api.budgets_hold = True
    return made


def drains(pool: NodePoolOnMoto, minutes: float) -> dict[str, object]:
    pool.at(minutes)
    connection: Any = pool.api
    return drain(OfNoOther("gpu", None, {}), pool.lab, connection)


@pytest.mark.parametrize(("keys", "minutes"), [({}, 4), ({"drain": "1m"}, 1), ({"drain": "4m"}, 4)])
def test_a_protected_pod_has_the_shorter_time(lab: LabOnMoto, keys: dict[str, str], minutes: int) -> None:
    pool = held(lab, **keys)

    for waited in (0, minutes - 1 / 60):
        with pytest.raises(TryLater, match="class/work-a"):
            drains(pool, waited)
    assert drains(pool, minutes)["forced"] == ["class/work-a"]
    assert "deletionTimestamp" in pool.api.objects[POD]["metadata"]


def test_a_longer_time_is_the_controller_s_to_keep_from_the_beginning(lab: LabOnMoto) -> None:
    """Our step asks once; the order of the size follows at once, and with it the NodePool's own grace begins."""
    pool = held(lab, drain="10m")

    done = drains(pool, 0)

    assert ([row["name"] for row in done["nodes"]], done["forced"]) == (["node-a"], [])  # type: ignore[attr-defined]
    assert f"POST {POD}/eviction" in pool.api.asked
    assert pool.api.objects[f"{NODES}/node-a"]["metadata"]["annotations"][LEAVING] == "2026-11-20T20:00:00Z"
    assert "deletionTimestamp" not in pool.api.objects[POD]["metadata"]
