"""A claim whose own grace is a day: the end of a lease limits it."""

from typing import Any

import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.capacity.sizes import Direction, Order, write
from tests.unit.node_pool_on_moto import NodePoolOnMoto

TEN_PAST = "2026-11-20T20:10:00Z"


def notes(pool: NodePoolOnMoto, name: str = "a") -> dict[str, Any]:
    found: dict[str, Any] = pool.claim(name)["metadata"].get("annotations", {})
    return found


@pytest.mark.parametrize("grace", ["24h0m0s", "11m", None])
def test_a_close_gives_its_pods_no_longer_than_the_drain_of_the_pool(
    pool: NodePoolOnMoto, grace: str | None
) -> None:
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

    write(
        pool.capacity,
        Order("gpu", "close 1", "alice", Direction.DOWN, since=pool.at(0), leaving=[goes]),
    )

    assert (notes(pool), notes(pool, "b")[ENDS_AT]) == ({}, TEN_PAST)
