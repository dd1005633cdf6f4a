"""A pool that is bought from a Capacity Block is at zero before EC2 ends its nodes, with and without our code."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.builders.leases import EIGHT, HOUR, MINUTE
from tests.world.kubernetes.kubernetes import QUICK_RUNS
from tests.world.labs import LAB
from tests.world.world import World

ID = "cr-0123456789abcdef0"
BLOCK = {
    "instance_type": "g4dn.xlarge",
    "max_nodes": 3,
    "buy": "reserved",
    "reservation": ID,
    "reservation_type": "capacity-block",
}
POOLS: dict[str, Any] = {**LAB, "pools": {**LAB["pools"], "gpu": BLOCK}}
BEGINS = EIGHT - HOUR
#: The windows are from 20:00 to 22:00 and from 22:00 to 23:30.
ENDS = EIGHT + 3 * HOUR
EC2_ENDS = timedelta(minutes=30)


@pytest.fixture
def world() -> Iterator[World]:
    made = World(POOLS, BEGINS, 1)
    made.supply.services["ec2"].reservations[ID] = {  # type: ignore[attr-defined]
        "CapacityReservationId": ID,
        "ReservationType": "capacity-block",
        "State": "active",
        "InstanceType": "g4dn.xlarge",
        "AvailabilityZone": "ap-northeast-2a",
        "TotalInstanceCount": 3,
        "StartDate": BEGINS,
        "EndDateType": "limited",
        "EndDate": ENDS,
    }
    with made:
        made.kubernetes.check_runs = QUICK_RUNS
        yield made


def at(world: World, instant: datetime) -> None:
    world.run(instant - world.now)


def move_end(world: World, ends: datetime) -> None:
    world.supply.services["ec2"].reservations[ID]["EndDate"] = ends  # type: ignore[attr-defined]


def lease(window: str) -> Lease:
    [found] = [one for one in Ledger("gpu-lab-ledger").leases("gpu") if one.id == f"{window}-2026-11-20"]
    return found


def alive(world: World) -> int:
    return len([machine for machine in world.machines.of_pool("gpu") if machine.alive])


def deleted(world: World) -> None:
    """Every function of ours is gone."""
    world.functions.deleted |= {"guard", "planner", "leases", "nodegroups", "cluster", "notices", "diagnosis"}


def test_a_window_within_the_hours_opens_and_one_that_passes_them_is_refused(world: World) -> None:
    at(world, EIGHT + 30 * MINUTE)
    assert lease("evening").state is LeaseState.OPEN
    assert alive(world) == 2

    at(world, ENDS)

    assert lease("late").state is LeaseState.REFUSED
    assert alive(world) == 0


@pytest.mark.parametrize("then", [lambda _: None, deleted], ids=["our code", "without our code"])
def test_an_end_that_moves_nearer_ends_the_lease_before_ec2_ends_its_nodes(
    world: World, then: Callable[[World], None]
) -> None:
    at(world, EIGHT + 30 * MINUTE)
    ends = EIGHT + 2 * HOUR
    move_end(world, ends)
    at(world, EIGHT + 45 * MINUTE)
    assert lease("evening").closes == ends - 45 * MINUTE
    assert Ledger("gpu-lab-ledger").pool("gpu").failsafe_at == ends - 35 * MINUTE

    then(world)
    at(world, ends - EC2_ENDS)

    assert alive(world) == 0


def test_a_block_that_is_extended_in_time_opens_the_window_that_was_refused_ahead(world: World) -> None:
    at(world, EIGHT + 30 * MINUTE)
    assert lease("late").refusal

    move_end(world, ENDS + 24 * HOUR)
    at(world, EIGHT + 2 * HOUR + 20 * MINUTE)

    assert lease("late").state is LeaseState.OPEN
