"""When a budget is used up, to the second, and what a charge counts for whom."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from lamplighter.domain.billing.charge import Charge, charge, counted_from, counted_to, grants
from lamplighter.domain.billing.metering import Grant, Metered
from lamplighter.domain.guard.budget import Running, covered, overdrafts
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.reasons.reason import Reason, Value, reason
from tests.builders.guard_facts import lease
from tests.builders.leases import EIGHT, HOUR, MINUTE, usd
from tests.properties.laws.test_admissions import TERMS

MONTH = reason("money.per.month")
LAB = reason("money.budget", limit="10.00 USD", per=MONTH)
ALICES = reason("money.owners-budget", limit="1.00 USD", owner="alice", per=MONTH)


def running(one: Lease, so_far: int = 0, nodes: int = 1) -> Running:
    return Running(replace(one, period="2026-11"), usd(so_far), Money.of(Fraction(nodes, 3600), "USD"))


def terms(limit: int, **owners: int) -> Terms:
    return replace(TERMS, budget=usd(limit), owners={name: usd(amount) for name, amount in owners.items()})


def budget(spent: int, held: int = 0, **owners: int) -> BudgetPeriod:
    accounts = {name: Account(usd(0), usd(amount)) for name, amount in owners.items()}
    return BudgetPeriod("2026-11", usd(held), usd(spent), accounts=accounts)


def used_up(overdraft: Overdraft) -> Value:
    """The budget that an overdraft names."""
    assert isinstance(overdraft.why, Reason)
    assert overdraft.why.code == "guard.budget-used-up"
    return overdraft.why.values["budget"]


def test_the_reason_names_the_budget_the_hour_what_is_spent_and_what_has_run() -> None:
    found = overdrafts([running(lease(), so_far=1, nodes=2)], terms(10), budget(spent=8), EIGHT)

    assert found == {
        "evening": Overdraft(
            EIGHT + 30 * MINUTE,
            reason(
                "guard.budget-used-up", budget=LAB, at=EIGHT + 30 * MINUTE, spent="8.00 USD", more="1.00 USD"
            ),
        )
    }


def test_a_lease_is_ended_for_whichever_of_its_budgets_is_used_up_first() -> None:
    """The other one has an owner whose part lasts longer than the lab's budget."""
    alice, bob = lease("alices", closes=600), replace(lease("bobs", closes=600), owner="bob")
    both = [running(alice), running(bob)]

    found = overdrafts(both, terms(10, alice=1, bob=5), budget(spent=6), EIGHT)

    # Together they use the 4 of the lab in two hours; alice has 1 of her own, bob 5.
    assert {name: each.at for name, each in found.items()} == {
        "alices": EIGHT + HOUR,
        "bobs": EIGHT + 2 * HOUR,
    }
    assert used_up(found["alices"]) == ALICES
    assert found["bobs"].why == reason(
        "guard.budget-used-up", budget=LAB, at=EIGHT + 2 * HOUR, spent="6.00 USD", more="0.00 USD"
    )


def test_after_each_end_the_rest_of_the_money_lasts_longer() -> None:
    three = [running(lease(name, closes=minutes)) for name, minutes in (("a", 60), ("b", 120), ("c", 600))]
    found = overdrafts(three, terms(10), budget(spent=4), EIGHT)
    # Until nine they use 3 of the 6, until ten 2 more; the last 1 lasts until eleven.
    assert {name: each.at for name, each in found.items()} == {"c": EIGHT + 3 * HOUR}


def test_holds_cover_what_runs_exactly_up_to_the_budget_and_only_owners_of_the_period_are_asked() -> None:
    one = replace(lease(), period="2026-11")
    earlier = replace(lease("earlier"), owner="bob", period="2026-10")
    overdrawn = budget(spent=4, alice=3, bob=9)

    assert covered([one], terms(10), budget(spent=8, held=2))
    assert not covered([one], terms(10), budget(spent=9, held=2))
    assert covered([one], terms(10, alice=3), overdrawn)
    assert covered([one, earlier], terms(10, alice=3, bob=1), overdrawn)
    assert not covered([one, replace(earlier, period="2026-11")], terms(10, alice=3, bob=1), overdrawn)
    assert covered([], terms(1), budget(spent=4))


STATES = {
    LeaseState.PLANNED: False,
    LeaseState.ADMITTED: True,
    LeaseState.OPENING: True,
    LeaseState.OPEN: True,
    LeaseState.CLOSING: True,
    LeaseState.CLOSED: True,
    LeaseState.REFUSED: False,
}


@pytest.mark.parametrize(("state", "counts"), STATES.items())
def test_what_was_granted_justifies_nodes_and_begins_the_count(state: LeaseState, counts: bool) -> None:
    one = replace(lease(state=state), missing=1, replaced=("i-9",), wanted_before=((EIGHT, 2),))

    justified = Grant("evening", 1, one.opens, one.closes, frozenset({"i-9"}), ((EIGHT, 2),))
    assert grants([one]) == ([justified] if counts else [])
    # Without any lease that began, the hour before is looked at.
    later = EIGHT + 5 * HOUR
    assert counted_from([one], None, later) == (one.opens if counts else later - HOUR)


def test_counting_begins_where_the_last_count_ended_or_with_the_first_lease_before_its_end() -> None:
    leases = [lease("second", opens=-30), lease("first", opens=-60), lease("now", opens=0)]

    assert counted_from(leases, EIGHT - MINUTE, EIGHT) == EIGHT - MINUTE
    assert counted_from(leases, None, EIGHT) == EIGHT - HOUR
    assert counted_from(leases[2:], None, EIGHT) == EIGHT - HOUR
    assert counted_from(leases[2:], None, EIGHT + MINUTE) == EIGHT


def test_it_can_be_counted_until_the_first_planned_lease_that_is_due_in_whole_seconds() -> None:
    def planned(name: str, opens: int, closes: int = 120) -> Lease:
        return lease(name, opens=opens, closes=closes, state=LeaseState.PLANNED)

    until = EIGHT + timedelta(seconds=3, microseconds=9)

    assert counted_to([], until) == EIGHT + timedelta(seconds=3)
    assert counted_to([planned("a", -5), planned("b", -9), planned("c", 5)], until) == EIGHT - 9 * MINUTE
    assert counted_to([planned("over", -9, closes=0), lease()], until) == EIGHT + timedelta(seconds=3)


def test_each_lease_s_overrun_is_at_its_own_price_and_the_rest_at_today_s() -> None:
    dear = replace(lease("dear"), price_per_hour=Decimal(4))
    usual = lease("usual")
    metered = Metered({}, {"dear": {"": HOUR}, "usual": {"": HOUR}}, {"": 2 * HOUR})

    made = charge("gpu", [dear, usual], metered, replace(terms(10), price_per_hour=Decimal(3)), EIGHT)

    assert made == Charge(
        "gpu",
        EIGHT,
        NodeTime(2 * HOUR, usd(6)),
        {"dear": NodeTime(HOUR, usd(4)), "usual": NodeTime(HOUR, usd(3))},
    )
    assert made.all == NodeTime(4 * HOUR, usd(13))


def test_every_write_of_a_budget_moves_what_it_says_and_nothing_else() -> None:
    bob = Account(usd(2), usd(3))
    empty = BudgetPeriod("2026-11", usd(2), usd(3), 7, {"bob": bob})

    held = empty.holding(usd(5), "alice")
    assert held == replace(empty, held=usd(7), accounts={"bob": bob, "alice": Account(usd(5), usd(0))})
    assert held.freeing(usd(5), "alice") == empty
    assert held.freeing(usd(1), "alice").account("alice") == Account(usd(4), usd(0))
    paid = held.paying(usd(4), "alice")
    assert paid == replace(held, spent=usd(7), accounts={"bob": bob, "alice": Account(usd(5), usd(4))})
    assert (paid.used, paid.account("alice").used) == (usd(14), usd(9))
    assert paid.freeing(usd(5), "alice").account("alice") == Account(usd(0), usd(4))
    assert paid.account("nobody") == Account(usd(0), usd(0))


def test_a_hold_that_stands_in_no_account_is_given_back_to_the_lab_alone() -> None:
    kept = BudgetPeriod("2026-11", usd(6), usd(0), accounts={"alice": Account(usd(1), usd(0))})
    assert kept.freeing(usd(5), "alice") == replace(kept, held=usd(1), accounts={})


def test_what_overruns_and_what_runs_without_a_lease_is_spent_and_told_apart() -> None:
    empty = BudgetPeriod("2026-11", usd(0), usd(1))

    once = empty.overrunning(usd(2), "alice").running_unleased(usd(4))
    twice = once.overrunning(usd(3), "alice").running_unleased(usd(5))

    assert once == replace(
        empty, spent=usd(7), overrun=usd(2), unleased=usd(4), accounts={"alice": Account(usd(0), usd(2))}
    )
    assert twice == replace(
        empty, spent=usd(15), overrun=usd(5), unleased=usd(9), accounts={"alice": Account(usd(0), usd(5))}
    )
