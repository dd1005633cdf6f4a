"""How long pods on a NodePool have: our own time, a shorter one of the pool, and never the long grace of a claim."""

from typing import Any

import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.application.cluster.drain import drain
from lamplighter.application.cluster.run import Run
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.capacity.port import Removal
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


TEN_PAST = "2026-11-20T20:10:00Z"


def notes(pool: NodePoolOnMoto, name: str = "a") -> dict[str, Any]:
    found: dict[str, Any] = pool.claim(name)["metadata"].get("annotations", {})
    return found


@pytest.mark.parametrize("grace", ["24h0m0s", "11m", None])
def test_a_close_gives_pods_the_drain_of_the_pool(pool: NodePoolOnMoto, grace: str | None) -> None:
    pool.node()
    pool.size(1)
    pool.claim()["spec"] = {"terminationGracePeriod": grace} if grace else {}

    write(pool.capacity, Order("gpu", "close 1", "alice", Direction.DOWN, since=pool.at(0)))

    assert notes(pool)[ENDS_AT] == TEN_PAST
    assert "deletionTimestamp" in pool.claim()["metadata"]


def test_a_smaller_size_limits_the_claim_that_goes(pool: NodePoolOnMoto) -> None:
    pool.node("a")
    goes = pool.node("b")
    pool.size(2)
    pool.claim("b")["spec"] = {"terminationGracePeriod": "24h0m0s"}
    pool.moto.lease(nodes=1, name="cli-2", opens=-60)

    write(pool.capacity, Order("gpu", "close 1", "alice", Direction.DOWN, since=pool.at(0), leaving=[goes]))

    assert (notes(pool), notes(pool, "b")[ENDS_AT]) == ({}, TEN_PAST)


@pytest.mark.parametrize("why", [Removal.FEWER, Removal.REPLACED, Removal.DRAINED])
def test_no_removal_of_the_lab_is_told_as_a_repair(pool: NodePoolOnMoto, why: Removal) -> None:
    instance = pool.node()
    pool.size(1)
    pool.claim()["spec"] = {"terminationGracePeriod": "24h0m0s"}
    pool.at(0)
    seen = pool.capacity.see("gpu")

    pool.capacity.of("gpu").remove("gpu", [instance], why, seen)
    # A deletion that the API server dates later than the limit, as no real one is.
    pool.claim()["metadata"]["deletionTimestamp"] = "2026-11-20T20:30:00Z"

    assert ENDS_AT in notes(pool)
    assert pool.capacity.see("gpu", {Part.MEMBERS, Part.INTERRUPTIONS}).interruptions == ()


def test_a_repaired_node_of_a_lease_is_reported(pool: NodePoolOnMoto) -> None:
    pool.node()
    pool.size(1)
    pool.moto.lease(nodes=1, name="cli-2", opens=-60)
    pool.at(1)
    pool.claim()["metadata"] |= {
        "deletionTimestamp": "2026-11-20T20:00:30Z",
        "annotations": {ENDS_AT: "2026-11-20T20:00:30Z"},
    }

    found: Any = sweep_all(pool.guard_services)["breaches"]

    [told] = [each for each in found if each["rule"] == "node-interrupted"]
    assert (told["action"], told["done"]) == ("say", True)
