"""What is counted beyond leases, and what an extension moves, where others write too."""

from dataclasses import replace

from lamplighter.application.leases.metering import count_beyond
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import cost, started
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import asks, of, opened, others_write_first, schedules, step


def test_what_ran_past_the_ends_of_leases_is_told_by_lease(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=0, closes=30)
    started(lab, 1, 0)
    now = lab.at(40)

    count_beyond("gpu", now, lab.guard_services.lease_services, "guard")

    [counted] = lab.entries("metered")
    assert (counted.who, counted.lease) == ("guard", "cli-1")
    assert str(counted.why) == f"600 past the end of cli-1: they cost {cost(lab, 10)} and count as spent"


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
