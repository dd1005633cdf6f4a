"""Orders of any kind in any order: no pool is overfull, no budget is overdrawn, no failsafe runs too early."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.capacity.calls import AFTER_END
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import extension, grant
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.target import target_at
from lamplighter.domain.schedules.failsafe import failsafe_instant
from lamplighter.values import zones
from tests.builders.leases import MINUTE

# The last evening of a month in Seoul: leases fall into two budget periods.
START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TERMS = Terms(
    pool="gpu",
    max_nodes=3,
    price_per_hour=Decimal("1.237"),
    budget=Money.of(12, "USD"),
    per="month",
    zone=zones.zone("Asia/Seoul"),
    longest=timedelta(hours=8),
    default=timedelta(hours=1),
    owners={"owner-1": Money.of("4.948", "USD")},
)


@dataclass
class Books:
    """A ledger in memory: the leases, and the money held in each period."""

    leases: list[Lease] = field(default_factory=list)
    held: dict[str, Money] = field(default_factory=dict)

    def budget(self, period: str) -> BudgetPeriod:
        nothing = Money.zero("USD")
        owners = {each.owner for each in self.leases}
        accounts = {owner: Account(self.held_by(owner, period), nothing) for owner in owners}
        return BudgetPeriod(period, self.held.get(period, nothing), nothing, accounts=accounts)

    def held_by(self, owner: str, period: str) -> Money:
        theirs = [each.hold for each in self.leases if each.owner == owner and each.period == period]
        return sum(theirs, Money.zero("USD"))

    def budgets(self, at: datetime) -> dict[str, BudgetPeriod]:
        this = TERMS.period(at)
        return {key: self.budget(key) for key in (this.key, TERMS.period(this.ends).key)}

    def keep(self, lease: Lease) -> None:
        self.leases = [each for each in self.leases if each.id != lease.id] + [lease]
        self.held = {}
        for each in self.leases:
            self.held[each.period] = self.held.get(each.period, Money.zero("USD")) + each.hold


@dataclass(frozen=True)
class Ask:
    """One order at an instant: minutes after the start, lengths in minutes."""

    at: int
    nodes: int
    lasting: int
    verb: Verb
    add: bool
    window: bool


asks = st.lists(
    st.builds(
        Ask,
        at=st.integers(0, 20 * 60),
        nodes=st.integers(1, 4),
        lasting=st.integers(1, 10 * 60),
        verb=st.sampled_from([Verb.OPEN, Verb.OPEN, Verb.EXTEND]),
        add=st.booleans(),
        window=st.booleans(),
    ),
    max_size=12,
).map(lambda found: sorted(found, key=lambda ask: ask.at))


def command(number: int, ask: Ask, opens: datetime | None = None) -> Command:
    now = START + ask.at * MINUTE
    return Command(
        id=f"c{number}",
        verb=ask.verb,
        pool="gpu",
        owner=f"owner-{number % 3}",
        by="somebody",
        source="cli",
        issued=now,
        expires=now + timedelta(days=9),
        nodes=ask.nodes,
        opens=opens,
        lasting=ask.lasting * MINUTE,
        window=f"w{number}" if ask.window else None,
        add=ask.add,
    )


def played(orders: Sequence[Ask]) -> Books:
    """The ledger after all of these orders were decided, one after the other."""
    books = Books()
    for number, ask in enumerate(orders):
        now = START + ask.at * MINUTE
        order = command(number, ask)
        if ask.verb is Verb.OPEN:
            answer = grant.decide(order, TERMS, books.leases, books.budgets(now), now=now, generation=0)
            if answer.outcome == "granted" and answer.lease is not None:
                books.keep(answer.lease)
            continue
        lease = extension.meant(order, books.leases, now)
        budget = books.budget(lease.period) if lease else None
        moved = extension.decide(order, TERMS, books.leases, budget, now=now, generation=0)
        if moved.after is not None:
            books.keep(moved.after)
    return books


@given(asks)
def test_a_pool_never_has_more_nodes_than_its_maximum(orders: list[Ask]) -> None:
    leases = played(orders).leases

    for instant in {lease.opens for lease in leases}:
        there = sum(lease.nodes for lease in leases if lease.opens <= instant < lease.closes)
        assert there <= TERMS.max_nodes
        assert target_at(leases, instant, TERMS.max_nodes).nodes == there


@given(asks)
def test_no_period_ever_holds_more_than_the_budget(orders: list[Ask]) -> None:
    books = played(orders)

    assert all(held <= TERMS.budget for held in books.held.values())
    for lease in books.leases:
        assert lease.hold == TERMS.hold(lease.nodes, lease.opens, lease.closes)
        assert lease.period == TERMS.period(lease.opens).key


@given(asks)
def test_no_owner_ever_holds_more_than_their_part(orders: list[Ask]) -> None:
    books = played(orders)
    for period in books.held:
        for owner, limit in TERMS.owners.items():
            assert books.held_by(owner, period) <= limit


@given(asks)
def test_no_lease_of_a_person_is_longer_than_the_longest(orders: list[Ask]) -> None:
    assert all(
        lease.closes - lease.opens <= TERMS.longest for lease in played(orders).leases if lease.window is None
    )


@given(asks, st.integers(0, 24 * 60))
def test_the_failsafe_never_fires_before_a_running_lease_is_over(orders: list[Ask], at: int) -> None:
    leases, now = played(orders).leases, START + at * MINUTE
    running = [lease for lease in leases if lease.in_force(now)]
    first = failsafe_instant(leases, now)
    assert all(first is not None and first >= lease.closes + AFTER_END for lease in running)


@given(
    asks,
    st.builds(
        Ask,
        st.just(20 * 60),
        st.integers(1, 4),
        st.integers(1, 600),
        st.just(Verb.OPEN),
        st.just(True),
        st.just(False),
    ),
)
def test_a_refusal_that_names_an_instant_is_a_grant_at_that_instant(orders: list[Ask], last: Ask) -> None:
    books, now = played(orders), START + last.at * MINUTE
    order = command(99, last)
    answer = grant.decide(order, TERMS, books.leases, books.budgets(now), now=now, generation=0)
    if answer.earliest is None:
        return

    moved = replace(order, opens=answer.earliest)
    again = grant.decide(moved, TERMS, books.leases, books.budgets(answer.earliest), now=now, generation=0)

    assert answer.outcome == "refused"
    assert again.outcome == "granted"


@given(asks)
def test_asking_again_with_the_same_command_changes_nothing(orders: list[Ask]) -> None:
    books = played(orders)
    for number, ask in enumerate(orders):
        if ask.verb is not Verb.OPEN:
            continue
        now = START + 24 * 60 * MINUTE
        order = command(number, ask)
        answer = grant.decide(order, TERMS, books.leases, books.budgets(now), now=now, generation=0)
        known = next((lease for lease in books.leases if lease.id == order.lease_id), None)
        if known is not None:
            assert (answer.outcome, answer.lease) == ("granted", known)
