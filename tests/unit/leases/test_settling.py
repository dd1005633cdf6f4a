"""What a close settles and leaves: the whole answers of its steps, at the instant that zero was proven."""

from typing import Any

import pytest

from handlers.leases import STEPS
from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.pool import Phase
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import cost, started
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import proof

NOTHING = {"amount": "0.0000", "currency": "USD"}

ALICES = reason("lease.of-owner", owner="alice")


def step(lab: LabOnMoto, name: str, **results: object) -> dict[str, Any]:
    return STEPS[name](
        {"command": lab.command("close"), "results": results}, lab.guard_services.lease_services
    )


def closing(lab: LabOnMoto, minutes: float) -> dict[str, Any]:
    """A lease of one node that somebody closes so many minutes after eight."""
    lab.lease(nodes=1)
    lab.at(minutes)
    return step(lab, "RestoreExperiments")


def test_a_lease_whose_nodes_never_came_is_settled_for_nothing(lab: LabOnMoto) -> None:
    restored = closing(lab, 30)

    assert restored["closing"] == ["cli-1"]
    assert restored["over"] is False
    assert step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof(30)) == {
        "node_seconds": 0,
        "cost": NOTHING,
        "unleased_seconds": 0,
        "unleased": {"node_microseconds": 0, **NOTHING},
    }
    settled = lab.kept()
    assert (settled.state, settled.node_seconds, settled.cost) == (LeaseState.CLOSED, 0, Money.zero("USD"))


@pytest.mark.parametrize(("proof", "closed"), [(proof(31), 31), ({}, 40)])
def test_a_lease_is_closed_at_the_proof_or_now(lab: LabOnMoto, proof: dict[str, object], closed: int) -> None:
    restored = closing(lab, 30)
    lab.at(40)
    step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof)
    assert lab.kept().closed == EIGHT + closed * MINUTE


def test_what_ran_is_paid_and_what_ran_past_the_end_is_told_apart(lab: LabOnMoto) -> None:
    started(lab, 1, 0)
    restored = closing(lab, 30)
    lab.at(34)

    settled = step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof(34))

    assert (settled["node_seconds"], settled["cost"]) == (34 * 60, cost(lab, 34).to_json())
    assert settled["unleased_seconds"] == 0
    lease = lab.kept()
    assert lease.overrun is not None
    assert (lease.overrun.seconds, lease.cost) == (4 * 60, cost(lab, 34))
    (entry,) = lab.entries("closed")
    assert (entry.what, entry.lease, entry.nodes) == (reason("audit.lease-closed", lease=ALICES), "cli-1", 1)
    assert entry.why == reason(
        "audit.settled.overrun", seconds=2040, past=240, cost=str(cost(lab, 34)), hold="1.00 USD"
    )


def test_the_last_close_takes_the_failsafe_away_and_one_beside_another_lease_keeps_it(lab: LabOnMoto) -> None:
    restored = closing(lab, 30)
    lab.lease(nodes=1, name="cli-2", closes=60)
    step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof(30))

    assert step(lab, "Disarm", RestoreExperiments=restored)["at"] is not None
    assert lab.capacity.ledger.pool("gpu").phase is Phase.OPEN
    assert lab.entries("failsafe-disarmed") == []

    lab.at(60)
    last = STEPS["RestoreExperiments"](
        {"command": lab.command("close", lease="cli-2", id="close-2")}, lab.guard_services.lease_services
    )
    step(lab, "Settle", RestoreExperiments=last, ProveZero=proof(60))

    assert step(lab, "Disarm", RestoreExperiments=last) == {"at": None}
    assert lab.capacity.ledger.pool("gpu").phase is Phase.CLOSED
    (entry,) = lab.entries("failsafe-disarmed")
    assert (entry.who, entry.what, entry.why) == (
        "leases",
        reason("audit.failsafe-removed", pool="gpu"),
        reason("audit.failsafe-removed.why"),
    )


@pytest.mark.parametrize(("minutes", "given"), [(24 * 60, True), (24 * 60 + 1, False)])
def test_a_missing_receipt_is_given_within_a_day(lab: LabOnMoto, minutes: int, *, given: bool) -> None:
    restored = closing(lab, 30)
    step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof(30))

    lab.at(30 + minutes)
    assert step(lab, "Receipt", ProveZero=proof(30 + minutes))["lease"] == ("cli-1" if given else None)
    assert [each["lease"] for each in lab.capacity.ledger.receipts("gpu")] == (["cli-1"] if given else [])
    # What has its receipt gets no other.
    assert step(lab, "Receipt", ProveZero=proof(30)) == {"lease": None, "pool": "gpu", "also": []}


def test_a_receipt_is_told_with_what_the_lease_came_to(lab: LabOnMoto) -> None:
    restored = closing(lab, 30)
    step(lab, "Settle", RestoreExperiments=restored, ProveZero=proof(30))

    step(lab, "Receipt", RestoreExperiments=restored, ProveZero=proof(30))

    (entry,) = lab.entries("receipt")
    assert (entry.what, entry.why, entry.lease, entry.nodes) == (
        reason("audit.lease-cost", lease=ALICES, cost="0.00 USD"),
        reason("audit.node-seconds", seconds=0),
        "cli-1",
        1,
    )


@pytest.mark.parametrize(
    ("direction", "before", "size", "told"),
    [
        (Direction.UP, 0, 1, True),
        (Direction.UP, 2, 2, False),
        (Direction.DOWN, 0, 0, True),
        (Direction.DOWN, 2, 1, True),
    ],
)
def test_a_size_only_grows_on_the_way_up_and_only_shrinks_on_the_way_down(
    lab: LabOnMoto, direction: Direction, before: int, size: int, *, told: bool
) -> None:
    lab.lease(nodes=1)
    lab.scale(before)

    done = write(lab.capacity, Order("gpu", "holder", "alice", direction, EIGHT, lease="cli-1"))

    assert (done.size, done.before, done.target.nodes, lab.sizes["desiredSize"]) == (size, before, 1, size)
    reason = "alice's lease justifies 1 until 22:00 UTC on 2026-11-20"
    nodes = "1 node" if size == 1 else f"{size} nodes"
    said = [
        (entry.who, str(entry.what), str(entry.why), entry.lease, entry.nodes)
        for entry in lab.entries("scaled")
    ]
    whole = [("alice", f"ordered {nodes} on pool gpu, {before} before", reason, "cli-1", size)]
    assert said == (whole if told else [])
