"""A pause that delayed an opening ends early: the lease that is due opens at once, and only once."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.lease import Lease
from tests.builders.leases import EIGHT
from tests.world.kubernetes.kubernetes import QUICK_RUNS
from tests.world.world import World

LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "guard": {"idle_after": "off", "budget": {"amount": "100", "currency": "USD", "period": "month"}},
}
WINDOW = {"name": "evening", "nodes": 1, "days": "fri", "start": "20:30", "end": "22:30"}
ASKS = {
    "owner": "alice",
    "by": "alice",
    "source": "cli",
    "issued": "2026-11-20T20:00:00Z",
    "expires": "2026-11-21T20:00:00Z",
}
AHEAD = {"pool": "gpu", "nodes": 1, "opens": "2026-11-20T20:30:00Z", "for_seconds": 7200}


def minute(world: World, after_eight: float) -> None:
    world.run(EIGHT + timedelta(minutes=after_eight) - world.now)


def change(world: World, verb: str, **more: str) -> None:
    world.give("change", {**ASKS, "id": f"{verb}-1", "verb": verb, "pool": "*", **more})


def the_lease() -> Lease:
    (found,) = Ledger("gpu-lab-ledger").leases("gpu")
    return found


@pytest.mark.parametrize("ahead", [True, False], ids=["granted ahead", "window"])
@pytest.mark.parametrize("until", ["34", "50"])
@pytest.mark.parametrize("resumed", [29, 31])
def test_what_a_pause_put_off_opens_once_where_it_ends_early(
    resumed: int, until: str, *, ahead: bool
) -> None:
    with World(LAB if ahead else {**LAB, "windows": [WINDOW]}, EIGHT) as world:
        world.kubernetes.check_runs = QUICK_RUNS
        minute(world, 1)
        if ahead:
            world.give("open", {**ASKS, "id": "ahead-1", "verb": "open", **AHEAD})
        minute(world, 10)
        change(world, "pause", closes=f"2026-11-20T20:{until}:00Z")
        minute(world, resumed)
        change(world, "resume")
        minute(world, max(30, resumed) + 1)

        assert the_lease().ordered, "it is due, and nobody orders its nodes"

        minute(world, 65)
        opened = [run.name for run in world.workflows.executions.values() if "Scale" in run.steps]
        assert len(opened) == 1, opened
