"""A budget that running leases will pass: the guard warns a quarter of an hour ahead, and closes them then."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from lamplighter.adapters.capacity import kinds
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import gather_lab
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.money import money
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import started
from tests.unit.lab_on_moto import LabOnMoto


def test_another_pool_whose_price_nobody_knows_keeps_no_pool_from_being_guarded(lab: LabOnMoto) -> None:
    lab.capacity.lab = Lab.model_validate(
        {
            "name": "lab",
            "pools": {"gpu": {}, "old": {"existing": "gone"}},
            "guard": {"budget": {"amount": "0"}},
        }
    )
    lab.capacity.capacities = kinds.of_lab(lab.capacity.lab)
    one = lab.lease(nodes=1, closes=240)
    started(lab, 1, 0)
    old = replace(one, id="cli-2", pool="old", price_per_hour=Decimal(1))
    lab.at(5)
    ledger, lab_facts = lab.capacity.ledger, gather_lab(lab.guard_services)
    held = ledger.budget(one.period, "USD").holding(one.hold, one.owner)
    ledger.charge(
        Charge("gpu", EIGHT, NodeTime(60 * MINUTE, Money.of(1, "USD"))),
        [],
        pool=ledger.pool("gpu"),
        budget=held,
        why=None,
    )
    leases = ledger.leases
    ledger.leases = lambda pool: [old] if pool == "old" else leases(pool)  # type: ignore[method-assign]

    facts = gather(lab.guard_services, "gpu", lab_facts)

    assert one.id in facts.overdrafts


def test_a_sweep_warns_and_then_closes_what_the_budget_no_longer_pays(lab: LabOnMoto) -> None:
    one = lab.lease(nodes=1, opens=0, closes=240)
    started(lab, 1, 0)
    ledger, price = lab.capacity.ledger, lab.guard_services.lease_services.terms("gpu").price_per_hour
    rest = money.cost_of(timedelta(minutes=60), price, "USD")
    gone = Charge("gpu", EIGHT, NodeTime(60 * MINUTE, Money.of(120, "USD") - rest))
    held = ledger.budget(one.period, "USD").holding(money.cost_of(240 * MINUTE, price, "USD"), one.owner)
    ledger.charge(gone, [], pool=ledger.pool("gpu"), budget=held, why=None)
    rules = []
    for minutes in (30, 41, 46, 51, 56):
        lab.at(minutes)
        found = sweep_all(lab.guard_services)["breaches"]
        assert isinstance(found, list)
        rules.append([each["action"] for each in found if each["rule"] == "budget-reached"])

    # 60 minutes of money: warned within 20 minutes of the end, closed within one sweep of it.
    assert rules == [[], ["warn"], [], [], ["close"]]
    assert [close["lease"] for close in lab.closes] == [one.id]
