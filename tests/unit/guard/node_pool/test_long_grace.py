"""A claim whose own grace is a day: the end of a lease limits it, and nothing of that looks like node repair."""

from typing import Any

import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.capacity.port import Removal
from tests.unit.node_pool_on_moto import NodePoolOnMoto

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
