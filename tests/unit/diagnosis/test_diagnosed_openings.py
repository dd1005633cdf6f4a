"""An opening that is late, short or broken has its cause in the notice, in the trail and in the receipt."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.why import explain
from tests.world.aws.functions import Trouble
from tests.world.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OPENS = timedelta(hours=8)
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "windows": [{"name": "evening", "days": "daily", "start": "20:00", "end": "23:00", "nodes": 2}],
}


def at_once(machine: Any) -> None:
    """The operator is quick, so that only the part under test takes long."""
    machine.gpus_after = 10.0


def aloud(world: World) -> list[str]:
    return [text for _, topic, text in world.said if topic == "notices" and "open" in text.partition("\n")[0]]


def steps(world: World) -> list[str]:
    (run,) = (each for each in world.workflows.executions.values() if each.name.startswith("open-evening"))
    return run.steps


def found_by(world: World) -> list[str]:
    trail = Ledger("gpu-lab-ledger").audit("gpu", NOON)
    return [entry.details["cause"] for entry in trail if entry.kind == "finding"]


def test_a_shortage_is_diagnosed_told_once_and_kept_for_why_and_the_receipt() -> None:
    with World(LAB, NOON) as world:
        world.machines.changed.append(at_once)
        world.machines.troubles.capacity = 1
        world.run(OPENS + timedelta(minutes=30))

        (said,) = aloud(world)
        assert "1 of 2 nodes: AWS has no g4dn.xlarge capacity left" in said
        assert "What to do: Wait (AWS or Karpenter keeps trying)" in said
        assert found_by(world) == ["no-capacity"]
        assert steps(world).count("Diagnose") > 1

        ledger = Ledger("gpu-lab-ledger")
        told = explain(ledger.leases("gpu"), ledger.audit("gpu", NOON), world.now, 2)
        assert [entry.details["cause"] for entry in told.findings] == ["no-capacity"]
        before = explain(ledger.leases("gpu"), ledger.audit("gpu", NOON), NOON + OPENS, 2)
        assert before.findings == ()

        world.machines.troubles.capacity = None
        world.run(timedelta(hours=4))

        (receipt,) = ledger.receipts("gpu")
        assert [row["cause"] for row in receipt["findings"]] == ["no-capacity"]


def test_a_shortage_that_is_over_is_told_no_more() -> None:
    with World(LAB, NOON) as world:
        world.machines.changed.append(at_once)
        world.machines.troubles.capacity = 1
        world.run(OPENS + timedelta(minutes=20))
        world.machines.troubles.capacity = None
        world.run(timedelta(minutes=30))

        _, whole = aloud(world)
        assert "2 of 2 nodes are ready and their GPUs are proven" in whole
        ledger = Ledger("gpu-lab-ledger")
        assert explain(ledger.leases("gpu"), ledger.audit("gpu", NOON), world.now, 2).findings == ()


def test_a_node_that_is_late_is_announced_with_its_cause_and_waited_for() -> None:
    with World(LAB, NOON) as world:
        world.machines.changed.append(at_once)
        world.machines.changed.append(_joins_late(world))
        world.run(OPENS + timedelta(minutes=11))

        (said,) = aloud(world)
        assert "open with 1 of 2 nodes" in said
        assert "The cause is node-not-joined" in said

        world.run(timedelta(minutes=10))

        assert "2 of 2 nodes are ready and their GPUs are proven" in aloud(world)[-1]
        assert steps(world).count("ArmFailsafe") == 1


def _joins_late(world: World) -> Any:
    def changed(machine: Any) -> None:
        # The second instance becomes a node only after 11 minutes.
        if machine.id.endswith("2") or len(world.machines.machines) == 2:
            first = min(world.machines.machines)
            machine.joins_after = 45.0 if machine.id == first else 660.0

    return changed


def test_an_opening_that_goes_well_is_not_diagnosed() -> None:
    with World(LAB, NOON) as world:
        world.machines.changed.append(at_once)
        world.run(OPENS + timedelta(minutes=30))

        assert "Diagnose" not in steps(world)
        assert len(aloud(world)) == 1


@pytest.mark.parametrize("trouble", ["deleted", "silent"])
def test_a_diagnosis_that_cannot_be_made_keeps_no_lab_from_opening(trouble: str) -> None:
    with World(LAB, NOON) as world:
        world.machines.changed.append(at_once)
        world.machines.troubles.capacity = 1
        if trouble == "deleted":
            world.functions.deleted.add("diagnosis")
        else:
            world.functions.troubles = _silence
        world.run(OPENS + timedelta(minutes=30))

        (said,) = aloud(world)
        assert "1 of 2 nodes: AWS has no g4dn.xlarge capacity left" in said
        assert not world.functions.unnamed


def _silence(function: str, _step: str) -> Any:
    return tuple(Trouble(at, "lost") for at in range(1, 60)) if function == "diagnosis" else ()
