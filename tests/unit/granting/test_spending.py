"""Whether a lease gets its nodes and its money: each limit at its edge, and the whole text of a refusal."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.billing import statement
from lamplighter.domain.billing.statement import BY_PEOPLE, Ahead, Row
from lamplighter.domain.granting import admission, budget_use, spending
from lamplighter.domain.granting.admission import Lack
from lamplighter.domain.granting.outlook import refusals
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import crowded_at, others, taken_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import Account, BudgetPeriod
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.reasons.reason import draw, reason
from lamplighter.values.zones import zone
from tests.builders import leases
from tests.builders.leases import HOUR, usd

OPENS = leases.EIGHT
PERIOD = "2026-11"


TERMS = Terms(
    pool="gpu",
    max_nodes=3,
    price_per_hour=Decimal(1),
    budget=usd(10),
    per="month",
    zone=zone("UTC"),
    longest=12 * HOUR,
    default=HOUR,
    owners={"class": usd(6)},
)
LEASE = leases.lease("evening", state=LeaseState.PLANNED)
MONTH = reason("money.per.month")
OF_THE_LAB = reason("money.budget", limit="10.00 USD", per=MONTH)
OF_CLASS = reason("money.owners-budget", limit="6.00 USD", owner="class", per=MONTH)
AHEAD = "spent and held, and the windows until its end are planned for"
ENDS = "until 00:00 on 2026-12-01 (UTC)"


def budget(held: str = "0", spent: str = "0", own_held: str = "0", own_spent: str = "0") -> BudgetPeriod:
    return BudgetPeriod(
        PERIOD, usd(held), usd(spent), accounts={"class": Account(usd(own_held), usd(own_spent))}
    )


def refusal(lease: Lease, there: BudgetPeriod, promised: Iterable[Lease] = ()) -> str | None:
    refused = admission.refusal(lease, TERMS, [], there, promised)
    return None if refused is None else draw(refused.figures, ENGLISH, TERMS.clock)


def asking(owner: str, hold: str) -> Lease:
    return replace(LEASE, id=f"of-{owner}", owner=owner, hold=usd(hold))


def test_what_is_left_may_be_spent_to_the_last_cent() -> None:
    there = budget("3", "3")

    assert refusal(asking("alice", "4"), there) is None
    assert refusal(asking("alice", "4.01"), there) == (
        "it would cost 4.01 USD, more than is left of the 10.00 USD for the month (2026-11): 3.00 USD is held, "
        f"3.00 USD is spent, so 4.00 USD is left {ENDS}"
    )


def test_an_owner_with_a_limit_is_refused_by_it_and_others_are_not() -> None:
    there = budget("2", "1", "2", "1")

    assert refusal(asking("class", "3"), there) is None
    assert refusal(asking("class", "3.01"), there) == (
        "it would cost 3.01 USD, more than is left of the 6.00 USD that class has for the month (2026-11): "
        f"2.00 USD is held, 1.00 USD is spent, so 3.00 USD is left {ENDS}"
    )
    assert refusal(asking("alice", "7"), there) is None


def test_what_is_planned_for_windows_of_the_period_is_promised() -> None:
    planned = [LEASE, replace(LEASE, id="other", owner="alice"), replace(LEASE, id="next", period="2026-12")]

    assert refusal(asking("alice", "2"), budget(), planned) is None
    assert refusal(asking("alice", "2.01"), budget(), planned) == (
        "it would cost 2.01 USD, more than is left of the 10.00 USD for the month (2026-11): 0.00 USD is held, "
        f"0.00 USD is spent and 8.00 USD is planned for windows, so 2.00 USD is left {ENDS}"
    )
    assert refusal(asking("class", "2.01"), budget(), [LEASE]) == (
        "it would cost 2.01 USD, more than is left of the 6.00 USD that class has for the month (2026-11): "
        f"0.00 USD is held, 0.00 USD is spent and 4.00 USD is planned for windows, so 2.00 USD is left {ENDS}"
    )


def test_what_no_lease_answers_for_is_said_and_nothing_below_zero_is_left() -> None:
    there = replace(budget("9", "3"), overrun=usd("0.5"), unleased=usd("0.25"))

    assert refusal(asking("alice", "1"), there) == (
        "it would cost 1.00 USD, more than is left of the 10.00 USD for the month (2026-11): 9.00 USD is held, "
        f"3.00 USD is spent (0.75 USD of it past or without a lease), so 0.00 USD is left {ENDS}"
    )


def test_more_for_a_lease_that_runs_is_refused_with_what_is_left() -> None:
    def more(amount: str, owner: str, promised: Iterable[Lease] = ()) -> str:
        purse = spending.purses(owner, TERMS, budget("4", "1", "4", "0"), promised)[-1]
        ends = TERMS.period(LEASE.opens).ends
        return draw(spending.refusal_of_more(usd(amount), purse, ends), ENGLISH, TERMS.clock)

    assert more("2.01", "class") == (
        f"it would cost 2.01 USD more, and of the 6.00 USD that class has for the month 2.00 USD is left {ENDS}"
    )
    assert more("1.01", "alice", [replace(LEASE, owner="alice")]) == (
        "it would cost 1.01 USD more, and of the 10.00 USD for the month 1.00 USD is left, "
        f"with 4.00 USD planned for windows, {ENDS}"
    )


def test_an_owner_has_left_what_the_nearer_limit_leaves() -> None:
    assert spending.left("class", TERMS, budget("2", "0", "2")) == usd(4)
    assert spending.left("class", TERMS, budget("7", "0", "2")) == usd(3)
    assert spending.left("alice", TERMS, budget("2", "1", "2")) == usd(7)
    assert [
        (purse.limit, purse.promised) for purse in spending.purses("class", TERMS, budget(), [LEASE])
    ] == [(usd(10), usd(4)), (usd(6), usd(4))]


@pytest.mark.parametrize(
    ("minutes", "taken"), [(-1, 0), (0, 2), (59, 2), (60, 3), (119, 3), (120, 1), (179, 1), (180, 0)]
)
def test_a_lease_takes_its_nodes_from_its_opening_until_before_its_end(minutes: int, taken: int) -> None:
    beside = replace(LEASE, id="b", nodes=1, opens=OPENS + HOUR, closes=OPENS + 3 * HOUR)
    assert taken_at([LEASE, beside], OPENS + minutes * HOUR / 60) == taken


@pytest.mark.parametrize(
    ("nodes", "opens", "closes", "crowded"),
    [
        (1, 0, 2, None),
        (2, 0, 2, 0),
        (2, -1, 0, None),
        (2, -1, 1, 0),
        (2, 2, 3, None),
        (2, -1, 4, 0),
        (3, 2, 4, 2.5),
        (3, 2, 2.5, None),
        (4, 3, 4, 3),
    ],
)
def test_when_the_nodes_do_not_fit(nodes: int, opens: float, closes: float, crowded: float | None) -> None:
    later = replace(LEASE, id="b", nodes=1, opens=OPENS + 2.5 * HOUR, closes=OPENS + 3 * HOUR)
    at = crowded_at([later, LEASE], nodes, OPENS + opens * HOUR, OPENS + closes * HOUR, 3)
    assert at == (None if crowded is None else OPENS + crowded * HOUR)


def test_a_window_gives_way_to_earlier_ones_and_a_person_to_every_window() -> None:
    asked = replace(LEASE, order=1)
    earlier, later = (replace(asked, id=f"{hours}", opens=OPENS + hours * HOUR) for hours in (-1, 1))
    before, after = (replace(asked, id=f"order {order}", order=order) for order in (0, 2))
    twin = replace(asked, id="twin")
    early = replace(later, id="early", opens=OPENS - HOUR, ready_by=OPENS + HOUR)
    granted = replace(later, id="granted", state=LeaseState.OPEN)
    closed = replace(earlier, id="closed", state=LeaseState.CLOSED)
    there = [asked, earlier, later, before, after, twin, early, granted, closed]

    assert others(there, asked) == [earlier, before, granted]
    assert others(there, replace(asked, id="cli-1", window=None)) == there[:-1]
    assert others(there, replace(asked, window=None)) == there[1:-1]


def test_windows_ahead_are_refused_by_room_then_by_money_in_the_order_of_their_opening() -> None:
    first = replace(LEASE, id="a", window="first")
    full = replace(LEASE, id="b", window="full", order=1)
    dear = replace(LEASE, id="c", opens=OPENS + 3 * HOUR, closes=OPENS + 5 * HOUR, hold=usd("2.01"))
    last = replace(dear, id="d", opens=OPENS + 4 * HOUR, hold=usd(2))
    running = replace(LEASE, id="r", window=None, owner="alice", nodes=1, state=LeaseState.OPEN)

    found = refusals([last, dear, full, first], [running], {"gpu": TERMS}, {PERIOD: budget()})

    taken = (
        admission.with_nodes(reason("lease.of-owner", owner="alice"), 1),
        admission.with_nodes(reason("lease.of-window", window="first"), 2),
    )
    assert {name: (refused.lack, refused.reason) for name, refused in found.items()} == {
        "b": (
            Lack.NODES,
            reason("lease.pool-full", pool="gpu", at=OPENS, leases=taken, nodes=2, wanted=5, most=3),
        ),
        "c": (Lack.MONEY, admission.over_budget("2.01 USD", OF_CLASS, PERIOD)),
    }
    over = replace(running, opens=OPENS - HOUR, closes=OPENS)
    alone = refusals([replace(LEASE, nodes=4)], [over], {"gpu": TERMS}, {PERIOD: budget()})
    assert alone["evening"].reason == reason("lease.too-many-nodes", nodes=4, pool="gpu", most=3)
    assert admission.lack_of(alone["evening"].reason) is Lack.NODES


def test_windows_ahead_are_those_of_the_period_that_nobody_decided_on() -> None:
    next_month = replace(LEASE, id="next", period="2026-12")
    refused = replace(LEASE, id="refused")
    dear = replace(LEASE, id="dear", opens=OPENS + 3 * HOUR, closes=OPENS + 5 * HOUR, hold=usd(7))
    known = [LEASE, replace(refused, state=LeaseState.REFUSED)]

    coming = statement.ahead([LEASE, next_month, refused, dear], known, {"gpu": TERMS}, budget())

    assert coming.leases == [LEASE]
    [(refused_lease, refused_for)] = coming.refused
    assert (refused_lease, refused_for.lack) == (dear, Lack.MONEY)
    assert refused_for.reason == admission.over_budget("7.00 USD", OF_THE_LAB, PERIOD)
    assert coming.cost("USD") == usd(4)


def test_every_owner_with_a_part_has_a_row_the_dearest_first() -> None:
    there = replace(budget(), accounts={"class": Account(usd(1), usd(2)), "alice": Account(usd(0), usd(9))})
    coming = Ahead([LEASE], [])

    assert statement.owners(there, coming, {"class": usd(6), "team": usd(1), "lab": usd(1)}) == [
        Row("alice", usd(9), usd(0), usd(0)),
        Row("class", usd(2), usd(1), usd(4), usd(6)),
        Row("lab", usd(0), usd(0), usd(0), usd(1)),
        Row("team", usd(0), usd(0), usd(0), usd(1)),
    ]
    assert Row("class", usd(2), usd(1), usd(4), usd(6)).all == usd(7)
    assert Row("class", usd(2), usd(1), usd(4), usd(6)).to_json("owner") == {
        "owner": "class",
        "spent": usd(2).to_json(),
        "held": usd(1).to_json(),
        "planned": usd(4).to_json(),
        "budget": usd(6).to_json(),
    }
    assert "budget" not in Row("alice", usd(9), usd(0), usd(0)).to_json("owner")


def test_every_window_with_a_part_has_a_row_and_people_share_one() -> None:
    past = NodeTime(HOUR, usd(1))
    closed = replace(LEASE, id="1", state=LeaseState.CLOSED, cost=usd(3), overrun=past)
    closing = replace(LEASE, id="2", state=LeaseState.CLOSING, overrun=past)
    running = replace(LEASE, id="3", state=LeaseState.OPEN, window=None, hold=usd(5))
    refused = replace(LEASE, id="4", state=LeaseState.REFUSED, window="refused")
    planned = replace(LEASE, id="5", window="planned")
    elsewhere = replace(closed, id="6", period="2026-10")
    tomorrow = replace(LEASE, id="7", hold=usd(2))

    found = statement.windows(
        [closed, closing, running, refused, planned, elsewhere], Ahead([tomorrow], []), budget()
    )

    assert found == [Row("evening", usd(4), usd(4), usd(2)), Row(BY_PEOPLE, usd(0), usd(5), usd(0))]


@pytest.mark.parametrize(
    ("nodes", "cost", "missing"),
    [
        (2, 4, None),
        (3, 4, (Lack.NODES, 0)),
        (2, 5, (Lack.MONEY, 1)),
        (2, 7, (Lack.MONEY, 0)),
        (3, 7, (Lack.NODES, 0)),
    ],
)
def test_nodes_are_asked_before_each_budget(nodes: int, cost: int, missing: tuple[Lack, int] | None) -> None:
    assert admission.missing(nodes, 2, cost, [6, 4]) == missing
    assert admission.missing(nodes, 2, usd(cost), [usd(6), usd(4)]) == missing


def test_a_refusal_that_an_older_release_kept_as_a_sentence_counts_as_money() -> None:
    assert admission.lack_of("pool gpu is full") is Lack.MONEY
    assert admission.lack_of(None) is Lack.MONEY


@pytest.mark.parametrize(
    ("there", "ahead", "told"),
    [
        (budget(), [], []),
        (budget("2", "2.99"), [], []),
        (budget("2", "3"), [], [(None, 50, "5.00 USD of the 10.00 USD for the month is spent and held")]),
        (budget("2", "6.5"), [], [(None, 80, "8.50 USD of the 10.00 USD for the month is spent and held")]),
        (budget("0", "11"), [], [(None, 100, "11.00 USD of the 10.00 USD for the month is spent and held")]),
        (
            budget("0", "3", "0", "3"),
            [],
            [("class", 50, "3.00 USD of the 6.00 USD that class has for the month is spent and held")],
        ),
        (budget("0", "4"), [asking("alice", "6")], []),
        (
            budget("0", "4"),
            [asking("alice", "6.01")],
            [
                (
                    None,
                    0,
                    f"4.00 USD of the 10.00 USD for the month is {AHEAD} 6.01 USD: 0.01 USD too much",
                )
            ],
        ),
        (
            budget(),
            [asking("class", "7")],
            [
                (
                    "class",
                    0,
                    f"0.00 USD of the 6.00 USD that class has for the month is {AHEAD} 7.00 USD: 1.00 USD too much",
                )
            ],
        ),
    ],
)
def test_the_greatest_share_of_a_budget_that_is_reached_is_told_and_what_does_not_fit(
    there: BudgetPeriod, ahead: list[Lease], told: list[tuple[str | None, int, str]]
) -> None:
    found = budget_use.warnings(TERMS, there, ahead, [50, 80, 100])
    assert [(use.owner, use.reached, draw(use.why, ENGLISH, TERMS.clock)) for use in found] == told


def test_a_budget_of_nothing_and_no_shares_warn_nobody() -> None:
    nothing = replace(TERMS, budget=usd(0), owners={"class": usd(0)})
    assert list(budget_use.warnings(nothing, budget("0", "3"), [asking("class", "7")], [50])) == []
    assert list(budget_use.warnings(TERMS, budget("0", "11"), [asking("class", "7")], [])) == []
