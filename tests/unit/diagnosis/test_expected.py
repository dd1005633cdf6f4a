"""The nodes that a diagnosis expects of a pool, from its leases in force, and since when."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.diagnosis.expected import Expected, expected
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.builders.leases import EIGHT, lease

LEASE = lease("evening", closes=180, owner="alice")


def of(*leases: Lease, minutes: float = 10, kind: str = "g5.12xlarge", most: int = 8) -> Expected:
    now = EIGHT + timedelta(minutes=minutes)
    return expected("gpu", leases, now, max_nodes=most, instance_type=kind)


@pytest.mark.parametrize(("leases", "nodes"), [
    ([LEASE], 2),
    ([LEASE, replace(LEASE, id="b", nodes=3)], 5),
    ([LEASE, replace(LEASE, id="b", nodes=7)], 8),
    ([replace(LEASE, missing=1)], 2),
    ([replace(LEASE, state=LeaseState.CLOSED)], 0),
    ([replace(LEASE, opens=EIGHT + timedelta(hours=1))], 0),
])  # fmt: skip
def test_nodes_are_expected_as_granted_also_those_that_a_shortage_keeps_away(
    leases: list[Lease], nodes: int
) -> None:
    assert of(*leases).nodes == nodes


def test_they_are_expected_since_the_last_order_and_never_from_later_than_now() -> None:
    def ordered(minutes: int) -> Lease:
        return replace(LEASE, id=str(minutes), ordered=EIGHT + timedelta(minutes=minutes))

    assert of(LEASE).since == EIGHT
    assert of(ordered(3)).since == EIGHT + timedelta(minutes=3)
    assert of(ordered(3), ordered(7), LEASE).since == EIGHT + timedelta(minutes=7)
    assert of(ordered(12)).since == EIGHT + timedelta(minutes=10)
    assert of().since == EIGHT - timedelta(minutes=50)


def test_gpus_are_those_of_the_type_and_left_out_where_it_is_not_known() -> None:
    found = of(replace(LEASE, ordered=EIGHT + timedelta(seconds=1, microseconds=9)))

    assert found.to_json() == {
        "pool": "gpu",
        "instance_type": "g5.12xlarge",
        "nodes": 2,
        "gpus_per_node": 4,
        "since": "2026-11-20T20:00:01Z",
    }
    assert "gpus_per_node" not in of(LEASE, kind="odd.large").to_json()
