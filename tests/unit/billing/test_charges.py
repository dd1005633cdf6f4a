"""Node time past or without a lease is spent: counted while it runs, once, and on one receipt."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from handlers.leases import STEPS
from lamplighter.application.guard.money import count
from lamplighter.application.leases.metering import count_beyond
from lamplighter.domain.leases.terms import terms as terms_of
from lamplighter.domain.money import money
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests.builders.leases import EIGHT, HOUR, MINUTE
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import of


def budget(lab: LabOnMoto) -> BudgetPeriod:
    return lab.capacity.ledger.budget("2026-11", "USD")


def cost(lab: LabOnMoto, node_minutes: float) -> Money:
    """What so many minutes of a node cost."""
    return money.cost_of(
        node_minutes * MINUTE, lab.guard_services.lease_services.terms("gpu").price_per_hour, "USD"
    )


def sweep(lab: LabOnMoto, minutes: float) -> None:
    """The money part of the guard's sweep, so many minutes after eight."""
    now = lab.at(minutes)
    count(
        lab.guard_services.lease_services,
        "gpu",
        lab.capacity.ledger.leases("gpu"),
        lab.capacity.see("gpu"),
        now,
    )


def started(lab: LabOnMoto, nodes: int, minutes: float) -> None:
    """Nodes that have run since so many minutes after eight."""
    lab.scale(nodes)
    launched(minutes)


def of_type(kind: str) -> None:
    """Every instance has this type: somebody changed the launch template."""
    for instance in _instances():
        instance.instance_type = kind


def launched(minutes: float) -> None:
    """moto takes the machine's clock: the launch is moved to where the story has it."""
    for instance in _instances():
        instance.launch_time = (EIGHT + minutes * MINUTE).replace(tzinfo=None)


def _instances() -> list[Any]:
    from moto.backends import get_backend  # noqa: PLC0415

    ec2 = get_backend("ec2")["123456789012"]["ap-northeast-2"]
    return [instance for reservation in ec2.reservations.values() for instance in reservation.instances]


def closed(lab: LabOnMoto, command: Mapping[str, object]) -> dict[str, Any]:
    """The lease steps of CloseLab; gives the receipts."""
    results: dict[str, Any] = {}
    for name in ("RestoreExperiments", "Settle", "Disarm", "Receipt"):
        if name == "Settle":
            results["ProveZero"] = {"zero": True, "at": instant.written(lab.capacity.now()), "desired": 0}
        results[name] = STEPS[name](
            {"command": command, "results": results}, lab.guard_services.lease_services
        )
    receipt: dict[str, Any] = results["Receipt"]
    return receipt


def test_the_first_sweep_only_notes_where_counting_begins(lab: LabOnMoto) -> None:
    started(lab, 2, -600)
    sweep(lab, 0)
    assert budget(lab).spent == Money.zero("USD")
    assert lab.capacity.ledger.pool("gpu").metered_until == EIGHT


def test_nodes_that_nothing_closes_are_counted_as_they_run_each_second_once(lab: LabOnMoto) -> None:
    sweep(lab, 0)
    started(lab, 2, 3)

    for minutes in (5, 10, 15, 20, 25, 30, 35, 40):
        sweep(lab, minutes)

    # At 20 what ran since 3 is counted, at 40 what ran since.
    assert budget(lab).unleased == budget(lab).spent == cost(lab, 2 * 37)
    assert lab.capacity.ledger.pool("gpu").metered_until == EIGHT + 40 * MINUTE
    unbilled = lab.capacity.ledger.pool("gpu").unbilled
    assert unbilled is not None
    assert unbilled.seconds == 2 * 37 * 60


def test_what_runs_less_than_a_quarter_of_an_hour_is_left_to_its_close(lab: LabOnMoto) -> None:
    sweep(lab, 0)
    started(lab, 1, 3)

    for minutes in (15, 18):
        sweep(lab, minutes)
        assert budget(lab).spent == Money.zero("USD")

    sweep(lab, 18 + 1 / 60)
    assert budget(lab).spent > Money.zero("USD")


def test_a_close_counts_the_rest_and_leaves_one_receipt_of_all(lab: LabOnMoto) -> None:
    sweep(lab, 0)
    started(lab, 1, 0)
    sweep(lab, 20)
    lab.at(30)
    command = lab.command("close", lease=None, source="guard")

    receipt = closed(lab, command)
    again = STEPS["Settle"](
        {"command": command, "results": {"ProveZero": {"at": "2026-11-20T20:30:00Z"}}},
        lab.guard_services.lease_services,
    )

    assert receipt["node_seconds"] == 30 * 60
    assert Money.from_json(receipt["cost"]) == budget(lab).spent == cost(lab, 30)
    assert again["unleased_seconds"] == 0
    assert [each["node_seconds"] for each in lab.capacity.ledger.receipts("gpu")] == [30 * 60]


def test_what_runs_past_a_lease_is_its_overrun_in_receipt_account_and_budget(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=1, opens=0, closes=60)
    started(lab, 1, 0)
    sweep(lab, 60)
    sweep(lab, 80)
    assert budget(lab).overrun == budget(lab).account("alice").spent == cost(lab, 20)
    lab.at(90)

    receipt = closed(lab, lab.command("close", lease=lease.id))

    assert receipt["node_seconds"] == 90 * 60
    [kept] = lab.capacity.ledger.receipts("gpu")
    assert kept["overrun"]["node_seconds"] == 30 * 60
    assert Money.from_json(receipt["cost"]) == cost(lab, 90)
    assert budget(lab).overrun == budget(lab).spent == cost(lab, 30)
    assert budget(lab).unleased is None
    # The lease itself is paid by the period in which it opened.
    assert lab.capacity.ledger.budget(lease.period, "USD").account("alice").spent == cost(lab, 60)


def test_two_counts_of_the_same_time_count_once(lab: LabOnMoto) -> None:
    sweep(lab, 0)
    started(lab, 1, 0)
    now = lab.at(30)

    count_beyond("gpu", now, lab.guard_services.lease_services, "guard")
    count_beyond("gpu", now, lab.guard_services.lease_services, "leases")

    assert budget(lab).spent == cost(lab, 30)


def test_what_runs_over_the_turn_of_a_period_is_spent_in_each(lab: LabOnMoto) -> None:
    # In Seoul November ends at 15:00 UTC on the 30th: 9 days and 19 hours after eight.
    turn = (9 * 24 + 19) * 60
    sweep(lab, turn - 30)
    started(lab, 1, turn - 20)

    sweep(lab, turn + 40)

    assert budget(lab).spent == cost(lab, 20)
    assert lab.capacity.ledger.budget("2026-12", "USD").spent == cost(lab, 40)


def test_while_a_window_that_is_due_is_not_decided_its_nodes_are_not_counted(lab: LabOnMoto) -> None:
    sweep(lab, 0)
    lease = lab.lease(nodes=1, opens=10, closes=60)
    of(lease.id, state={"S": "planned"})
    started(lab, 1, 5)

    sweep(lab, 30)

    assert budget(lab).spent == cost(lab, 5)


def test_a_node_of_another_type_is_spent_at_its_own_price_and_no_lease_pays_for_it(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=1, opens=0, closes=60, instance_types=("g5.xlarge",))
    started(lab, 1, 0)
    of_type("p5.48xlarge")

    sweep(lab, 20)

    dear = money.cost_of(20 * MINUTE, Decimal("67.6772"), "USD")
    assert budget(lab).unleased == budget(lab).spent == dear
    lab.at(30)
    closed(lab, lab.command("close", lease=lease.id))
    [kept, unleased] = lab.capacity.ledger.receipts("gpu")
    assert (kept["lease"], kept["node_seconds"]) == (lease.id, 0)
    assert (
        Money.from_json(unleased["cost"])
        == budget(lab).spent
        == money.cost_of(30 * MINUTE, Decimal("67.6772"), "USD")
    )


def test_each_node_of_several_types_is_paid_at_its_own_price_and_none_at_more_than_was_held(
    lab: LabOnMoto,
) -> None:
    types = ("g5.xlarge", "g4dn.xlarge", "p5.48xlarge")
    pool = {"existing": "lab-ng-gpu", "instance_types": list(types), "max_nodes": 2}
    several = Lab.model_validate({"name": "lab", "cluster": {"existing": "lab"}, "pools": {"gpu": pool}})
    terms = terms_of(several, "gpu")

    held = terms.hold(2, EIGHT, EIGHT + HOUR)
    paid = terms.paid({"g5.xlarge": HOUR, "g4dn.xlarge": HOUR})

    assert held == Money.of(2 * Decimal("67.6772"), "USD")
    assert paid.cost == Money.of(Decimal("1.237") + Decimal("0.647"), "USD")
    cheaper = lab.lease(instance_types=types, price_per_hour=Decimal(1))
    assert terms.as_granted(cheaper).paid({"g5.xlarge": HOUR}).cost == Money.of(1, "USD")
    stated = terms_of(
        several.model_copy(
            update={"pools": {"gpu": several.pools["gpu"].model_copy(update={"price_per_hour": Decimal(3)})}}
        ),
        "gpu",
    )
    assert stated.paid({"g5.xlarge": HOUR, "p5.48xlarge": HOUR}).cost == Money.of(6, "USD")
    assert stated.paid({"g6.xlarge": HOUR}).cost == Money.of(Decimal("0.9896"), "USD")
