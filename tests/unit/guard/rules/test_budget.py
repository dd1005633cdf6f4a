"""A budget that running leases will pass: the guard warns a quarter of an hour ahead, and closes them then."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from lamplighter.adapters.capacity import kinds
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import gather_lab
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.budget import Running, covered, overdrafts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import money
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Value, reason
from tests.properties.laws.test_admissions import TERMS
from tests.unit.billing.test_charges import started
from tests.unit.guard.test_guard import EIGHT, MINUTE, lease, pool
from tests.unit.lab_on_moto import LabOnMoto

ONE_DOLLAR = Decimal(1)


def running(one: Lease, so_far: int = 0, nodes: int = 1) -> Running:
    return Running(replace(one, period="2026-11"), Money.of(so_far, "USD"), nodes, ONE_DOLLAR)


def terms(limit: int, **owners: int) -> Terms:
    limits = {name: Money.of(amount, "USD") for name, amount in owners.items()}
    return replace(TERMS, budget=Money.of(limit, "USD"), owners=limits)


def budget(spent: int, held: int = 0, **owners: int) -> BudgetPeriod:
    nothing = Money.zero("USD")
    accounts = {name: Account(nothing, Money.of(amount, "USD")) for name, amount in owners.items()}
    return BudgetPeriod("2026-11", Money.of(held, "USD"), Money.of(spent, "USD"), accounts=accounts)


def used_up(overdraft: Overdraft) -> Value:
    """The budget that an overdraft names."""
    assert isinstance(overdraft.why, Reason)
    assert overdraft.why.code == "guard.budget-used-up"
    return overdraft.why.values["budget"]


def test_while_holds_are_within_the_budget_nothing_needs_to_be_reckoned() -> None:
    one = replace(lease(), period="2026-11")

    assert covered([one], terms(10), budget(spent=8, held=2))
    assert not covered([one], terms(10), budget(spent=9, held=2))
    assert not covered([one], terms(10, alice=3), budget(spent=4, held=0, alice=4))


def test_the_instant_is_reckoned_from_what_runs() -> None:
    """At 1 USD an hour a node: 2 left, of which 1 has run; two nodes use the other one in half an hour."""
    found = overdrafts([running(lease(), so_far=1, nodes=2)], terms(10), budget(spent=8), EIGHT)

    assert {name: each.at for name, each in found.items()} == {"evening": EIGHT + 30 * MINUTE}


def test_a_lease_that_ends_before_its_money_is_left_alone() -> None:
    assert overdrafts([running(lease(closes=60))], terms(10), budget(spent=9), EIGHT) == {}


def test_when_another_lease_ends_the_money_lasts_longer() -> None:
    both = [running(lease("short", closes=30)), running(lease("long", closes=240))]

    found = overdrafts(both, terms(10), budget(spent=8), EIGHT)

    # Both until 20:30 are 1 USD; the other one lasts the longer lease for an hour more.
    assert {name: each.at for name, each in found.items()} == {"long": EIGHT + 90 * MINUTE}


def test_an_owners_part_ends_the_owners_leases_alone() -> None:
    alice, bob = lease("alices"), replace(lease("bobs"), owner="bob")

    found = overdrafts([running(alice), running(bob)], terms(100, alice=1), budget(spent=1, alice=1), EIGHT)

    assert list(found) == ["alices"]
    assert found["alices"].at == EIGHT
    assert used_up(found["alices"]) == reason(
        "money.owners-budget", limit="1.00 USD", owner="alice", per=reason("money.per.month")
    )


def test_its_people_are_warned_a_quarter_of_an_hour_ahead_and_it_is_closed_then() -> None:
    one = lease()
    facts = replace(pool(one, running=["i-1", "i-2"]), overdrafts={one.id: Overdraft(EIGHT, "it is used up")})
    far = replace(facts, overdrafts={one.id: Overdraft(EIGHT + 25 * MINUTE, "it will be")})

    [warning] = sweep(facts)
    told = EarlierBreach(Rule.BUDGET_REACHED, GuardAction.WARN, one.id, EIGHT - 15 * MINUTE)
    [closing] = sweep(replace(facts, earlier=(told,)))

    assert sweep(far) == ()
    assert (warning.rule, warning.action, warning.lease) == (Rule.BUDGET_REACHED, GuardAction.WARN, one.id)
    assert (closing.rule, closing.action, closing.lease) == (Rule.BUDGET_REACHED, GuardAction.CLOSE, one.id)


def test_what_was_told_and_has_not_come_yet_is_neither_told_again_nor_closed() -> None:
    one = lease()
    told = EarlierBreach(Rule.BUDGET_REACHED, GuardAction.WARN, one.id, EIGHT - 15 * MINUTE)
    later = Overdraft(EIGHT + 8 * MINUTE, "it will be")

    assert (
        sweep(replace(pool(one, running=["i-1", "i-2"]), overdrafts={one.id: later}, earlier=(told,))) == ()
    )


def test_a_watched_pool_is_only_said_about() -> None:
    one = lease()
    facts = replace(
        pool(one, running=["i-1", "i-2"]), overdrafts={one.id: Overdraft(EIGHT, "gone")}, enforcing=False
    )

    [said] = sweep(facts)

    assert said.action is GuardAction.SAY


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
    old = replace(one, id="cli-2", pool="old", price_per_hour=ONE_DOLLAR)
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
