"""Leases that follow each other on the same nodes: a NodePool's node has a life, and no lease loses its node to it."""

from typing import Any

import pytest

from lamplighter.application.capacity.steps import scale
from lamplighter.application.leases.extending import extend
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.document import read
from tests.builders.leases import HOUR
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.node_pool_on_moto import NodePoolOnMoto


def kept(pool: NodePoolOnMoto, hours: float, name: str = "a") -> str:
    """A node of an earlier lease, which lives for ten hours and is so old."""
    instance = pool.node(name, age=hours * HOUR)
    pool.claim(name)["spec"]["expireAfter"] = "10h0m0s"
    return instance


def opens(pool: NodePoolOnMoto, nodes: int = 1, **more: Any) -> Lease:
    """The step Scale of a lease of two hours that begins now."""
    pool.size(nodes)
    lease = pool.moto.lease(nodes=nodes, **more)
    pool.moto.at(0)
    scale({"command": pool.moto.command("open"), "results": {}}, pool.capacity)
    found = pool.capacity.ledger.lease("gpu", lease.id)
    assert found is not None
    return found


def test_a_node_that_a_lease_would_outlive_is_replaced_at_the_hand_over(pool: NodePoolOnMoto) -> None:
    old, young = kept(pool, 8.5, "a"), kept(pool, 1, "b")

    assert opens(pool, 2).replaced == (old,)
    assert "deletionTimestamp" in pool.claim("a")["metadata"]
    assert [member.instance for member in pool.capacity.see("gpu").staying] == [young]
    [entry] = pool.moto.entries("replaced")
    assert str(entry.why) == (
        "they have run since an earlier lease; their NodePool ends them from 21:30 UTC on 2026-11-20 on, and this lease"
        " lasts until 22:00 UTC on 2026-11-20"
    )


def test_a_node_that_lives_until_the_end_is_kept(pool: NodePoolOnMoto) -> None:
    kept(pool, 8)
    assert opens(pool).replaced == ()
    assert "deletionTimestamp" not in pool.claim()["metadata"]


def test_beside_another_running_lease_no_node_is_taken(pool: NodePoolOnMoto) -> None:
    kept(pool, 8.5, "a")
    kept(pool, 1, "b")
    pool.moto.lease(nodes=1, name="cli-2", opens=-60)
    assert opens(pool).replaced == ()


def test_a_node_without_an_end_is_kept(pool: NodePoolOnMoto) -> None:
    kept(pool, 100)
    pool.claim()["spec"]["expireAfter"] = "Never"
    assert opens(pool).replaced == ()


@pytest.mark.parametrize(
    ("age", "source", "until", "outcome"),
    [(7, "cli", 23, "extended"), (7.5, "cli", 23, "refused"), (9.5, "window", 21, "shortened")],
)
def test_an_end_moves_later_only_while_its_nodes_live(
    pool: NodePoolOnMoto, lab: LabOnMoto, *, age: float, source: str, until: int, outcome: str
) -> None:
    kept(pool, age)
    pool.size(1)
    lab.lease(nodes=1)
    command = lab.command("extend", source=source, closes=f"2026-11-20T{until}:00:00Z")

    answer = extend({"command": command}, pool.guard_services.lease_services)

    assert answer["outcome"] == outcome
    if outcome == "refused":
        assert str(read(answer["reason"])) == (
            "a node of pool gpu has run since an earlier lease, and its NodePool ends it at 22:30 UTC on 2026-11-20;"
            " no lease on it lasts longer"
        )
