"""A lease that was granted ahead comes to its opening: the money is looked at again, and what follows from it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.granting import opening
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import draw
from lamplighter.values import instant
from tests.builders.leases import EIGHT, HOUR, MINUTE, persons, usd
from tests.drawn import sentence
from tests.unit import aws_calls
from tests.unit.granting.test_spending import ENDS, TERMS
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import (
    asks,
    held,
    ledger,
    opened,
    others_write_first,
    schedules,
    spent,
    step,
)

MINE = persons("mine", hold=usd(4), state=LeaseState.ADMITTED)
"""Of alice, for 4 of the 10 USD of the month."""


def budget(held: str, spent: str = "0", **accounts: Account) -> BudgetPeriod:
    return BudgetPeriod("2026-11", usd(held), usd(spent), accounts=accounts)


def refusal(there: BudgetPeriod, *others: Lease, mine: Lease = MINE) -> str | None:
    refused = opening.refusal(mine, [mine, *others], TERMS, there)
    return None if refused is None else draw(refused.figures, ENGLISH, TERMS.clock)


def beside(state: LeaseState = LeaseState.ADMITTED, opens: int = 0, **more: object) -> Lease:
    return persons("other", opens, 180, **{"hold": usd(3), "state": state, "owner": "bob", **more})


def test_what_is_left_may_be_opened_to_the_last_cent() -> None:
    assert refusal(budget("4", "6")) is None
    assert refusal(budget("4", "6.01")) == (
        "it would cost 4.00 USD, more than is left of the 10.00 USD for the month (2026-11): 0.00 USD is held, "
        f"6.01 USD is spent, so 3.99 USD is left {ENDS}"
    )


@pytest.mark.parametrize(
    ("other", "opens"),
    [
        (beside(opens=1), True),
        (beside(opens=-1), False),
        (beside(id="earlier by its name"), False),
        (beside(id="other, later by its name"), True),
        (beside(LeaseState.OPENING, opens=1), False),
        (beside(LeaseState.OPEN), False),
        (beside(LeaseState.CLOSING), False),
        (beside(opens=1, ordered=EIGHT), False),
        (beside(opens=1, period="2026-12"), False),
        (beside(LeaseState.PLANNED, opens=1), False),
    ],
)
def test_only_the_holds_of_later_leases_of_the_period_do_not_count(other: Lease, *, opens: bool) -> None:
    assert (refusal(budget("7", "4"), other) is None) is opens


def test_an_owner_with_a_part_opens_within_it_and_others_do_not_take_it() -> None:
    mine = replace(MINE, owner="class")
    later = beside(opens=1, owner="class", hold=usd(2))

    assert refusal(budget("6", "2", **{"class": Account(usd(6), usd(2))}), later, mine=mine) is None
    assert refusal(budget("6", "2.01", **{"class": Account(usd(6), usd("2.01"))}), later, mine=mine) == (
        "it would cost 4.00 USD, more than is left of the 6.00 USD that class has for the month (2026-11): "
        f"0.00 USD is held, 2.01 USD is spent, so 3.99 USD is left {ENDS}"
    )


@pytest.mark.parametrize(
    ("mine", "ended", "unopened"),
    [
        (MINE, [], True),
        (replace(MINE, ordered=EIGHT), [], False),
        (replace(MINE, state=LeaseState.OPENING), [], False),
        (MINE, [persons("before", -60, 0, ordered=EIGHT - HOUR)], False),
        (MINE, [persons("before", -60, -1, ordered=EIGHT - HOUR)], True),
        (MINE, [persons("before", -60, 0)], True),
        (MINE, [persons("beside", -60, 1, ordered=EIGHT - HOUR)], True),
    ],
)
def test_a_lease_with_nodes_of_its_own_or_of_the_lease_before_is_open(
    mine: Lease, ended: list[Lease], *, unopened: bool
) -> None:
    """The nodes of a lease before it are its own for a minute by then."""
    assert opening.is_unopened(mine, [mine, *ended], EIGHT + MINUTE) is unopened


def granted_ahead(lab: LabOnMoto) -> Lease:
    """A lease for nine o'clock, granted at eight; the present instant is nine o'clock."""
    asked = asks(lab, "ahead", opens=instant.written(EIGHT + HOUR), add=True)
    mine = Lease.from_json(step(lab, "Admit", asked)["lease"])
    lab.at(60)
    return mine


@contextmanager
def no_budget_can_be_read() -> Iterator[None]:
    def unread(_service: str, operation: str, given: object) -> None:
        if operation == "Query" and "BUDGET#" in str(given):
            raise OutsideFailed("no answer", "dynamodb:Query")

    with aws_calls.heard(unread):
        yield


def all_but(lab: LabOnMoto, left: str) -> None:
    """Nodes without a lease have cost the whole budget but for this."""
    there = ledger(lab).budget("2026-11", "USD")
    spent(lab, usd(120) - usd(left), ledger(lab).pool("gpu"), there)


def test_a_lease_whose_money_was_spent_since_its_grant_ends_at_its_opening_without_nodes(
    lab: LabOnMoto,
) -> None:
    mine = granted_ahead(lab)
    all_but(lab, "4.94")
    assert mine.hold == usd("4.948")

    answers = [step(lab, "Admit", open_command(mine).to_json()) for _ in range(2)]

    assert answers[0] == answers[1]
    assert (answers[0]["outcome"], answers[0]["later"]) == ("refused", False)
    assert "so 4.94 USD is left until" in sentence(answers[0]["reason"])
    after = lab.kept(mine.id)
    assert (after.state, sentence(after.to_json()["because"])) == (
        LeaseState.REFUSED,
        sentence(answers[0]["reason"]),
    )
    assert held(lab) == usd(0)
    [entry] = lab.entries("refused")
    assert (entry.who, str(entry.what), entry.lease) == ("leases", "alice's lease does not open", mine.id)
    assert schedules() == {}
    assert ledger(lab).pool("gpu").failsafe_at is None


def test_a_lease_whose_money_is_there_opens(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)
    all_but(lab, "4.948")

    answer = step(lab, "Admit", open_command(mine).to_json())

    assert (answer["outcome"], answer["lease"]["state"], held(lab)) == ("granted", "admitted", mine.hold)
    assert lab.kept(mine.id).run == open_command(mine).id


def test_a_lease_whose_nodes_are_ordered_is_not_looked_at_again(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)
    ledger(lab).advance("gpu", mine.id, LeaseState.OPENING, EIGHT + HOUR)
    all_but(lab, "0")

    assert step(lab, "Admit", open_command(mine).to_json())["outcome"] == "granted"


@pytest.mark.parametrize("left", ["4.94", "4.948"])
def test_what_is_decided_on_a_budget_that_moved_is_decided_again(lab: LabOnMoto, left: str) -> None:
    mine = granted_ahead(lab)
    all_but(lab, left)

    with others_write_first(lab, times=1) as seen:
        answer = step(lab, "Admit", open_command(mine).to_json())

    # Whoever wrote first has emptied the budget's item: then there is money.
    assert (answer["outcome"], len(seen)) == ("granted", 2)


def test_a_budget_that_cannot_be_read_opens_nothing(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)

    with no_budget_can_be_read(), pytest.raises(OutsideFailed):
        step(lab, "Admit", open_command(mine).to_json())
    assert (lab.kept(mine.id).state, ledger(lab).command("gpu", open_command(mine).id)) == (
        LeaseState.ADMITTED,
        None,
    )


@pytest.mark.parametrize(("left", "state"), [("4.94", "refused"), ("9.99", "admitted")])
def test_a_close_decides_first_on_the_lease_that_would_keep_the_nodes(
    lab: LabOnMoto, left: str, state: str
) -> None:
    before = opened(lab, for_seconds=3600)
    ledger(lab).advance("gpu", before.id, LeaseState.OPENING, EIGHT)
    mine = granted_ahead(lab)
    all_but(lab, left)

    step(lab, "RestoreExperiments", lab.command("close", before.id, closes=instant.written(before.closes)))

    assert (lab.kept(mine.id).state, lab.kept(before.id).state) == (state, LeaseState.CLOSING)


def test_a_close_waits_for_no_lease_whose_opening_cannot_be_decided(lab: LabOnMoto) -> None:
    before = opened(lab, for_seconds=3600)
    ledger(lab).advance("gpu", before.id, LeaseState.OPENING, EIGHT)
    mine = granted_ahead(lab)

    with no_budget_can_be_read():
        step(
            lab, "RestoreExperiments", lab.command("close", before.id, closes=instant.written(before.closes))
        )

    assert (lab.kept(mine.id).state, lab.kept(before.id).state) == ("admitted", LeaseState.CLOSING)


def deployed(lab: LabOnMoto, **pool: str) -> None:
    """A deploy changed the pool."""
    changed = Lab.model_validate({"name": "lab", "pools": {"gpu": pool}})
    lab.capacity.lab = changed


def test_a_lease_opens_at_the_present_type_and_price_of_its_pool(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)
    assert (mine.instance_types, mine.hold) == (("g5.xlarge",), usd("4.948"))
    deployed(lab, instance_type="g5.2xlarge")

    answer = step(lab, "Admit", open_command(mine).to_json())

    after = lab.kept(mine.id)
    assert (answer["outcome"], after.instance_types) == ("granted", ("g5.2xlarge",))
    assert (after.price_per_hour, after.hold) == (Decimal("1.4903"), usd("5.9612"))
    assert held(lab) == after.hold
    [entry] = lab.entries("priced")
    assert str(entry.what) == "alice's lease opens for g5.2xlarge, at 1.4903 USD for a node and hour"
    assert "5.96 USD is held, 4.95 USD before" in str(entry.why)


def test_a_lease_that_is_dearer_than_what_is_left_is_refused_aloud(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)
    deployed(lab, price_per_hour="2")
    all_but(lab, "7.99")

    answer = step(lab, "Admit", open_command(mine).to_json())

    assert answer["outcome"] == "refused"
    assert "it would cost 8.00 USD" in sentence(answer["reason"])
    assert (lab.kept(mine.id).state, held(lab)) == (LeaseState.REFUSED, usd(0))


def test_a_cheaper_pool_frees_money_at_the_opening(lab: LabOnMoto) -> None:
    mine = granted_ahead(lab)
    deployed(lab, price_per_hour="1")
    all_but(lab, "4")

    assert step(lab, "Admit", open_command(mine).to_json())["outcome"] == "granted"
    assert held(lab) == lab.kept(mine.id).hold == usd(4)
