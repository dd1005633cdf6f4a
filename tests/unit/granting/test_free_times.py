"""Free times promise what an open command then gets: no more, no less, to the second."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.calendar.changes import Changes, Pause
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import grant
from lamplighter.domain.granting.free_times import FreeTime, PoolAhead, free_times, periods
from lamplighter.domain.leases.allowance import Allowance
from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.values import zones
from tests.builders.leases import DAY, EIGHT, HOUR, MINUTE, SECOND, lease, usd
from tests.properties.laws.test_admissions import TERMS

POOL = replace(TERMS, owners={}, budget=usd(20), zone=zones.zone("Asia/Seoul"), max_nodes=2)
LEASES = st.lists(
    st.builds(
        lambda number, opens, length, nodes, planned: lease(
            f"evening-{number}",
            opens,
            opens + length,
            nodes=nodes,
            state=LeaseState.PLANNED if planned else LeaseState.ADMITTED,
        ),
        st.integers(1, 99),
        st.integers(0, 1000),
        st.integers(10, 300),
        st.integers(1, 2),
        st.booleans(),
    ),
    max_size=5,
    unique_by=lambda one: one.id,
)


def wish(nodes: int = 1, length: timedelta = 2 * HOUR) -> Command:
    given = Command("free", Verb.OPEN, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + 15 * MINUTE, add=True)
    return replace(given, nodes=nodes, lasting=length)


def ahead(*leases: Lease, terms: Terms = POOL, until: datetime = EIGHT + DAY, spent: int = 0) -> PoolAhead:
    keys = [period.key for period in periods(terms, EIGHT, until)]
    return PoolAhead(terms, leases, {key: BudgetPeriod(key, usd(0), usd(spent)) for key in keys}, ())


def test_a_lease_fits_between_two_others_and_may_touch_both() -> None:
    between = ahead(lease("a-1", -60, 60), lease("b-1", 200, 260))
    assert free_times(wish(), between, EIGHT, EIGHT + 400 * MINUTE) == [
        FreeTime("gpu", EIGHT + HOUR, EIGHT + 200 * MINUTE),
        FreeTime("gpu", EIGHT + 260 * MINUTE, EIGHT + 400 * MINUTE),
    ]
    exact = ahead(lease("a-1", -60, 60), lease("b-1", 180, 260))
    assert free_times(wish(), exact, EIGHT, EIGHT + 300 * MINUTE) == [
        FreeTime("gpu", EIGHT + HOUR, EIGHT + 180 * MINUTE)
    ]


def test_who_has_as_much_ahead_as_the_lab_allows_is_free_now_only() -> None:
    theirs = replace(lease("a-1", 600, 660, nodes=1), owner="alice", window=None, state=LeaseState.ADMITTED)
    full = ahead(theirs, terms=replace(POOL, most_ahead=1))
    assert free_times(wish(), full, EIGHT, EIGHT + DAY) == [FreeTime("gpu", EIGHT, EIGHT + 2 * HOUR)]
    of_others = ahead(replace(theirs, owner="bea", by="bea"), terms=replace(POOL, most_ahead=1))
    assert free_times(wish(), of_others, EIGHT, EIGHT + DAY) == [FreeTime("gpu", EIGHT, EIGHT + DAY)]


def test_what_a_role_does_not_allow_is_not_free() -> None:
    theirs = ahead(replace(lease("a-1", 600, 660, nodes=1), owner="alice"))
    asks = replace(wish(), allowance=Allowance(nodes=1))
    assert free_times(asks, theirs, EIGHT, EIGHT + 700 * MINUTE) == [
        FreeTime("gpu", EIGHT, EIGHT + 600 * MINUTE)
    ]


def test_a_node_beside_a_smaller_lease_is_free_and_two_are_not() -> None:
    beside = ahead(lease("a-1", 0, 600, nodes=1))
    assert free_times(wish(1), beside, EIGHT, EIGHT + 4 * HOUR) == [FreeTime("gpu", EIGHT, EIGHT + 4 * HOUR)]
    assert free_times(wish(2), beside, EIGHT, EIGHT + 4 * HOUR) == []


@pytest.mark.parametrize(
    ("asks", "until"),
    [(wish(3), DAY), (wish(1, 9 * HOUR), DAY), (wish(1, MINUTE), DAY), (wish(), HOUR)],
    ids=[
        "more nodes than the pool has",
        "longer than a lease",
        "too short",
        "a range shorter than the lease",
    ],
)
def test_what_no_time_can_give_has_none(asks: Command, until: timedelta) -> None:
    assert free_times(asks, ahead(until=EIGHT + until), EIGHT, EIGHT + until) == []


def test_nothing_opens_before_a_pause_ends() -> None:
    paused = replace(ahead(), pauses=(Pause("bob", EIGHT - HOUR, EIGHT + HOUR),))
    assert free_times(wish(), paused, EIGHT, EIGHT + DAY) == [FreeTime("gpu", EIGHT + HOUR, EIGHT + DAY)]


def test_money_of_the_next_period_is_free_in_it() -> None:
    # The month of Seoul ends at 15:00 UTC on 30 November.
    since, month = EIGHT + 9 * DAY, EIGHT.replace(day=30, hour=15)
    spent = ahead(until=since + 2 * DAY)
    spent = replace(spent, budgets={**spent.budgets, "2026-11": BudgetPeriod("2026-11", usd(0), usd(20))})
    assert free_times(wish(), spent, since, since + 2 * DAY) == [FreeTime("gpu", month, since + 2 * DAY)]


@given(
    LEASES,
    st.integers(1, 3),
    st.integers(1, 40).map(lambda tens: tens * 10 * MINUTE),
    st.sampled_from([0, 16, 19]),
    st.sampled_from([None, 30, 23 * 60]),
    st.sampled_from([None, 0, 45, 600]),
)
def test_a_lease_is_granted_where_it_fits_into_a_free_time_and_nowhere_else(  # noqa: PLR0917
    leases: list[Lease],
    nodes: int,
    length: timedelta,
    spent: int,
    curfew: int | None,
    paused: int | None,
) -> None:
    terms = replace(POOL, curfew=None if curfew is None else Curfew(curfew, POOL.zone))
    pauses = () if paused is None else (Pause("bob", EIGHT, EIGHT + paused * MINUTE),)
    known, asks = replace(ahead(*leases, terms=terms, spent=spent), pauses=pauses), wish(nodes, length)

    found = free_times(asks, known, EIGHT, EIGHT + DAY)

    tried = {EIGHT + minutes * MINUTE for minutes in range(0, 24 * 60, 35)}
    edges = {edge for free in found for edge in (free.begins, free.ends - length)}
    edges |= {edge for one in leases for edge in (one.opens, one.opens - length, one.closes)}
    tried |= {edge + beside for edge in edges for beside in (-SECOND, timedelta(), SECOND)}
    for opens in tried:
        if not EIGHT <= opens <= EIGHT + DAY - length:
            continue
        decision = grant.decide(
            replace(asks, opens=opens),
            terms,
            leases,
            known.budgets,
            now=EIGHT,
            generation=0,
            changes=Changes(pauses=pauses),
        )
        given_whole = decision.lease is not None and decision.lease.closes - opens == length
        fits = any(free.begins <= opens and opens + length <= free.ends for free in found)
        assert fits == (decision.outcome == "granted" and given_whole), opens
