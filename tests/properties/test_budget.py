"""Whatever is held, freed, paid and overrun, in whatever order: the owners' parts are the whole, exactly."""

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger import money as ledger_money
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money

NOTHING = Money.zero("USD")
OWNERS = ["alice", "evening-class", "강의"]
amounts = st.fractions(min_value=0, max_value=50, max_denominator=3600).map(lambda part: Money(part, "USD"))


@dataclass(frozen=True)
class Step:
    what: str
    owner: str
    amount: Money


steps = st.lists(
    st.builds(
        Step, st.sampled_from(["hold", "settle", "overrun", "unleased"]), st.sampled_from(OWNERS), amounts
    ),
    max_size=30,
)


def played(story: list[Step]) -> BudgetPeriod:
    """The budget after it all; settling frees an earlier hold of the owner's and pays at most that."""
    budget, holds = BudgetPeriod("2026-11", NOTHING, NOTHING), dict[str, list[Money]]()
    for step in story:
        match step.what:
            case "hold":
                budget = budget.holding(step.amount, step.owner)
                holds.setdefault(step.owner, []).append(step.amount)
            case "settle" if holds.get(step.owner):
                hold = holds[step.owner].pop()
                budget = budget.freeing(hold, step.owner).paying(min(hold, step.amount), step.owner)
            case "overrun":
                budget = budget.overrunning(step.amount, step.owner)
            case "unleased":
                budget = budget.running_unleased(step.amount)
    assert budget.held == sum((hold for each in holds.values() for hold in each), NOTHING)
    return budget


@given(steps)
def test_the_owners_parts_and_what_nobody_leased_are_the_whole(story: list[Step]) -> None:
    budget = played(story)
    accounts = [budget.account(owner) for owner in OWNERS]

    assert sum((account.held for account in accounts), NOTHING) == budget.held
    spent = sum((account.spent for account in accounts), NOTHING)
    assert spent + (budget.unleased or NOTHING) == budget.spent
    assert (budget.overrun or NOTHING) <= budget.spent


@given(steps)
def test_settling_never_uses_more_than_was_held(story: list[Step]) -> None:
    """Only overruns and unleased nodes bring the used money above what was ever admitted."""
    budget = played(story)
    admitted = sum((step.amount for step in story if step.what == "hold"), NOTHING)
    beyond = (budget.overrun or NOTHING) + (budget.unleased or NOTHING)
    assert budget.used - beyond <= admitted


@given(steps)
def test_the_ledger_keeps_it_to_the_last_fraction(story: list[Step]) -> None:
    budget = played(story)
    assert ledger_money.as_budget("2026-11", "USD", [ledger_money.as_item(budget)]) == budget


def test_a_hold_from_before_there_were_accounts_is_freed_all_the_same() -> None:
    """A release without accounts wrote the hold; its settlement frees it and leaves no account below nothing."""
    old = items.item(items.LAB, "BUDGET#2026-11", {"held": _json(5), "spent": _json(1), "version": 7})
    budget = ledger_money.as_budget("2026-11", "USD", [old])

    settled = budget.freeing(Money.of(5, "USD"), "alice").paying(Money.of(2, "USD"), "alice")

    assert (settled.held, settled.spent) == (NOTHING, Money.of(3, "USD"))
    assert settled.account("alice").held == NOTHING
    assert settled.account("alice").spent.amount == Fraction(2)


def _json(amount: int) -> dict[str, str]:
    return Money.of(amount, "USD").to_json()
