"""The steps of a close beside other leases and other writers: each lease by itself, whatever moves meanwhile."""

from dataclasses import replace
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.application.leases.metering import count_beyond
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.schedule import close_command
from lamplighter.errors import TryLater
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import cost, started
from tests.unit.lab_on_moto import LEDGER, LabOnMoto
from tests.unit.leases.steps import asks, of, opened, others_write_first, proof, schedules, step


def closes(lab: LabOnMoto, name: str = "RestoreExperiments", **more: Any) -> dict[str, Any]:
    results = more.pop("results", {})
    command = lab.command("close", **{"lease": "cli-1", **more})
    return STEPS[name]({"command": command, "results": results}, lab.guard_services.lease_services)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("Admit", "pool gpu or its budget changed meanwhile"),
        ("Extend", "pool gpu or its budget changed meanwhile"),
        ("RestoreExperiments", "the leases of pool gpu changed while they were closed"),
        ("Settle", "its budget"),
    ],
)
def test_a_step_looks_three_times_and_asks_to_come_again(lab: LabOnMoto, step: str, said: str) -> None:
    lab.lease(nodes=1)
    closing = closes(lab) if step == "Settle" else {}
    command = {**lab.command("extend" if step == "Extend" else "open"), "for_seconds": 600, "nodes": 1}
    if step == "Admit":
        command |= {"lease": None, "add": True}
    if step in {"RestoreExperiments", "Settle"}:
        command = lab.command("close")

    run = {"command": command, "results": {"RestoreExperiments": closing, "ProveZero": proof(0)}}
    with others_write_first(lab) as seen, pytest.raises(TryLater, match=said):
        STEPS[step](run, lab.guard_services.lease_services)
    assert len(seen) == 3


def test_what_runs_without_a_lease_is_counted_later_where_others_keep_writing(lab: LabOnMoto) -> None:
    lab.at(30)
    with others_write_first(lab) as seen, pytest.raises(TryLater, match="is counted later"):
        count_beyond("gpu", lab.capacity.now(), lab.guard_services.lease_services, "guard")
    assert len(seen) == 3


def test_a_close_that_somebody_came_before_looks_again_and_closes(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    with others_write_first(lab, times=1):
        of_lease = closes(lab)
    assert (of_lease["closing"], lab.kept("cli-1").state) == (["cli-1"], LeaseState.CLOSING)

    with others_write_first(lab, times=1):
        closes(lab, "Settle", results={"RestoreExperiments": of_lease, "ProveZero": proof(0)})
    assert lab.kept("cli-1").state is LeaseState.CLOSED


def test_all_of_a_pool_closes_under_the_name_and_end_of_the_first_lease(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-20, closes=60)
    lab.lease(nodes=1, opens=-10, closes=90, name="cli-2", owner="bob")

    assert closes(lab, lease=None)["closing"] == ["cli-1", "cli-2"]
    [said] = lab.entries("closing")
    assert (said.what, said.lease, said.details) == (
        reason(
            "audit.closes",
            leases=(reason("lease.of-owner", owner="alice"), reason("lease.of-owner", owner="bob")),
        ),
        "cli-1",
        {"from": "2026-11-20T21:00:00Z", "leases": "cli-1,cli-2"},
    )


def test_a_close_of_a_pool_without_a_lease_is_answered_and_writes_nothing(lab: LabOnMoto) -> None:
    done = closes(lab, lease=None)

    closed = {"code": "lease.pool-closed-by", "values": {"by": "alice", "pool": "gpu"}}
    assert done == {"restored": [], "closing": [], "over": False, "reason": closed}
    assert lab.entries("closing") == []
    assert lab.capacity.ledger.pool("gpu").generation == 0


def test_a_close_that_came_for_an_end_since_moved_leaves_other_leases_schedules_alone(lab: LabOnMoto) -> None:
    first, second = opened(lab, nodes=1), opened(lab, name="open-2", nodes=1, add=True, owner="bob")
    stale = close_command(first).to_json()
    step(lab, "Extend", lab.command("extend", lease=first.id, for_seconds=3600))
    scheduler = boto3.client("scheduler")
    for name in schedules():
        scheduler.delete_schedule(GroupName="lab", Name=name)

    assert step(lab, "RestoreExperiments", stale)["over"] is True

    assert {name for name in schedules() if name.startswith("close-")} == {f"close-{first.id}"}
    assert lab.kept(second.id).granted


@pytest.mark.parametrize("later", [31, 30.005])
def test_only_what_is_being_closed_and_ended_by_the_proof_is_settled(lab: LabOnMoto, later: float) -> None:
    """A lease that began to close in the second of the proof still had its nodes then."""
    lab.lease(nodes=1, opens=-60, closes=30)
    lab.lease(nodes=1, opens=-60, closes=20, name="late")
    lab.lease(nodes=1, opens=-60, closes=60, name="after")
    lab.at(30)
    first = closes(lab)
    lab.at(later)
    closes(lab, lease="after", id="close-2")

    closes(lab, "Settle", results={"RestoreExperiments": first, "ProveZero": proof(30)})

    states = {lease.id: lease.state for lease in lab.capacity.ledger.leases("gpu")}
    assert states == {"cli-1": LeaseState.CLOSED, "late": LeaseState.ADMITTED, "after": LeaseState.CLOSING}


def test_a_lease_is_paid_at_the_price_at_which_it_was_granted(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    of("cli-1", price_per_hour={"S": "10"})
    started(lab, 1, 0)
    lab.at(30)
    restored = closes(lab)

    settled = closes(lab, "Settle", results={"RestoreExperiments": restored, "ProveZero": proof(30)})

    assert settled["cost"] == Money.of(5, "USD").to_json()
    assert settled["node_seconds"] == 1800


def test_one_close_gives_the_receipts_of_its_leases_and_of_what_ran_without_one(lab: LabOnMoto) -> None:
    lab.capacity.ledger.begin_counting("gpu", EIGHT)
    started(lab, 1, 0)
    lab.at(10)
    lab.lease(nodes=1, opens=10, closes=60)
    lab.lease(nodes=1, opens=10, closes=60, name="cli-2")
    lab.at(30)
    results: dict[str, Any] = {"RestoreExperiments": closes(lab, lease=None), "ProveZero": proof(30)}
    results["Settle"] = closes(lab, "Settle", results=results)

    receipt = closes(lab, "Receipt", results=results)

    also = [each["lease"] for each in receipt["also"]]
    assert [receipt["lease"], *also] == ["cli-1", "cli-2", None]
    assert Money.from_json(results["Settle"]["unleased"]) == cost(lab, 10)
    [counted] = lab.entries("metered")
    assert (str(counted.what), counted.lease) == ("counted 600 node-seconds past or without a lease", None)
    assert str(counted.why) == f"600 without a lease: they cost {cost(lab, 10)} and count as spent"


def test_what_ran_past_the_ends_of_leases_is_told_by_lease(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=0, closes=30)
    started(lab, 1, 0)
    now = lab.at(40)

    count_beyond("gpu", now, lab.guard_services.lease_services, "guard")

    [counted] = lab.entries("metered")
    assert (counted.who, counted.lease) == ("guard", "cli-1")
    assert str(counted.why) == f"600 past the end of cli-1: they cost {cost(lab, 10)} and count as spent"


def test_a_count_that_ended_between_its_parts_goes_on_to_its_own_end_first(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=0, closes=30)
    lab.lease(nodes=1, opens=0, closes=30, name="cli-2")
    started(lab, 2, 0)
    at = {"N": str(int((EIGHT + 35 * MINUTE).timestamp() * 1000))}
    boto3.client("dynamodb").update_item(
        TableName=LEDGER,
        Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": "STATE"}},
        UpdateExpression="SET metering_until = :at, metering_after = :lease",
        ExpressionAttributeValues={":at": at, ":lease": {"S": "cli-1"}},
    )
    now = lab.at(40)

    count_beyond("gpu", now, lab.guard_services.lease_services, "guard")

    # The first five minutes past the end of cli-1 were counted before.
    overrun = {each.id: each.overrun for each in lab.capacity.ledger.leases("gpu")}
    assert {name: ran and ran.time for name, ran in overrun.items()} == {
        "cli-1": 5 * MINUTE,
        "cli-2": 10 * MINUTE,
    }
    assert lab.capacity.ledger.pool("gpu").metered_until == now


def test_that_nothing_ran_is_counted_too(lab: LabOnMoto) -> None:
    lab.capacity.ledger.begin_counting("gpu", EIGHT)
    now = lab.at(30)

    count_beyond("gpu", now, lab.guard_services.lease_services, "guard")

    assert lab.capacity.ledger.pool("gpu").metered_until == now
    assert lab.entries("metered") == []


def test_an_extension_that_comes_to_nothing_leaves_the_failsafe_where_it_was(lab: LabOnMoto) -> None:
    lease = opened(lab)
    of(lease.id, hold={"M": {"amount": {"S": "1"}, "currency": {"S": "USD"}}})

    with others_write_first(lab, times=1):
        refused = step(
            lab, "Extend", {**lab.command("extend", lease=lease.id, for_seconds=3600), "generation": 1}
        )

    assert refused["outcome"] == "refused"
    assert schedules()["failsafe-gpu-10"] == "at(2026-11-20T22:10:00)"
    assert lab.capacity.ledger.pool("gpu").failsafe_at == lease.closes + 10 * MINUTE


def test_a_refused_extension_leaves_the_failsafe_of_another_lease_alone(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.guard_services.lease_services.arm("gpu")
    of("cli-1", state={"S": "closed"})
    lab.at(9.5)

    assert step(lab, "Extend", lab.command("extend", for_seconds=3600))["outcome"] == "refused"
    assert lab.capacity.ledger.pool("gpu").failsafe_at == EIGHT + 10 * MINUTE
    assert [entry.what for entry in lab.entries("refused")] == [reason("audit.extend-refused", pool="gpu")]


def test_an_extended_lease_is_of_the_pool_s_new_state_and_says_from_when_it_was_moved(lab: LabOnMoto) -> None:
    lease = opened(lab, nodes=1)
    step(lab, "Admit", asks(lab, "open-2", nodes=1, add=True, owner="bob"))

    step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))

    after = lab.kept(lease.id)
    assert after.generation == lab.capacity.ledger.pool("gpu").generation == 3
    [said] = lab.entries("extended")
    assert (said.lease, said.details) == (lease.id, {"from": instant.written(lease.closes)})
    assert replace(after, closes=lease.closes).owner == "alice"
