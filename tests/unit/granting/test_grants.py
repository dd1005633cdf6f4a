"""What an open command gets, as a whole answer: the lease, the reason, and when else it would be granted."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Changes, Pause
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import grant
from lamplighter.domain.granting.grant import GrantDecision
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.values import zones
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, lease, persons, usd
from tests.drawn import drawn
from tests.properties.laws.test_admissions import TERMS

POOL: Terms = replace(
    TERMS, price_per_hour=Decimal(1), budget=Money.of(100, "USD"), owners={}, zone=zones.zone("Etc/UTC")
)


def order(**more: Any) -> Command:
    """alice asks for a node for an hour."""
    given = Command("c1", Verb.OPEN, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + 15 * MINUTE)
    return replace(given, **more)


def window(**more: Any) -> Command:
    """The evening window's time has come."""
    return order(
        source="window",
        window="evening",
        lease="evening-1",
        opens=EIGHT,
        closes=EIGHT + 2 * HOUR,
        nodes=2,
        **more,
    )


PLANNED = lease(state=LeaseState.PLANNED)
ADMITTED: dict[str, Any] = {
    "state": LeaseState.ADMITTED,
    "by": "alice",
    "price_per_hour": POOL.price_per_hour,
}
MONEY = {key: BudgetPeriod(key, usd(0), usd(0)) for key in ("2026-11", "2026-12")}


def asked(
    command: Command,
    *leases: Lease,
    terms: Terms = POOL,
    budgets: Mapping[str, BudgetPeriod] = MONEY,
    now: datetime = EIGHT,
    changes: Changes | None = None,
) -> GrantDecision:
    return drawn(grant.decide(command, terms, leases, budgets, now=now, generation=3, changes=changes))


def test_a_person_gets_one_node_at_once_for_the_usual_length() -> None:
    answer = asked(order(because="the exam"), now=EIGHT + timedelta(microseconds=7))

    assert answer == GrantDecision(
        "granted",
        "1 of 3 nodes until 21:00 on 2026-11-20 (Etc/UTC), for alice because the exam; 1.00 USD is held",
        persons(order().lease_id, closes=60, nodes=1, because="the exam", **ADMITTED),
    )


def test_a_window_gets_what_was_planned_with_its_place_and_the_hour_it_must_be_ready_by() -> None:
    known = replace(PLANNED, order=4, ready_by=EIGHT + 10 * MINUTE)

    answer = asked(window(date="2026-11-20"), known, now=EIGHT + 5 * MINUTE)

    assert answer.outcome == "granted"
    given: dict[str, Any] = {
        "owner": "alice",
        "date": "2026-11-20",
        "asked_until": EIGHT + 2 * HOUR,
        **ADMITTED,
    }
    assert answer.lease == replace(lease(**given), order=4, ready_by=EIGHT + 10 * MINUTE)


def test_a_person_opens_at_no_instant_that_has_passed_and_a_length_counts_from_the_opening() -> None:
    late = asked(order(opens=EIGHT - HOUR, lasting=2 * HOUR, nodes=3)).lease
    later = asked(order(opens=EIGHT + HOUR, closes=EIGHT + 3 * HOUR + timedelta(microseconds=9))).lease

    assert late is not None
    assert (late.opens, late.closes, late.nodes, late.hold) == (EIGHT, EIGHT + 2 * HOUR, 3, usd(6))
    assert later is not None
    assert (later.opens, later.closes, later.hold) == (EIGHT + HOUR, EIGHT + 3 * HOUR, usd(2))
    assert later.asked_until is None


def test_a_lease_is_paid_by_the_period_in_which_it_opens() -> None:
    [december] = [asked(order(opens=datetime(2026, 12, 1, tzinfo=UTC))).lease]
    assert december is not None
    assert december.period == "2026-12"


def test_the_same_command_is_granted_again_as_it_was_before() -> None:
    before = lease()
    assert asked(window(), before, now=EIGHT + HOUR) == GrantDecision(
        "granted", "the evening lease was granted before", before
    )


@pytest.mark.parametrize(("opens", "taken"), [(-1, -1), (0, 0), (1, 0)])
def test_a_window_that_was_moved_opens_as_planned_where_that_has_come(opens: int, taken: int) -> None:
    known = replace(PLANNED, opens=EIGHT + opens * MINUTE, closes=EIGHT + 3 * HOUR, nodes=1)
    found = grant.as_planned(window(), [lease("other"), known], EIGHT)
    assert found == replace(window(), opens=EIGHT + taken * MINUTE, closes=EIGHT + 3 * HOUR, nodes=1)


def test_a_window_that_opens_this_very_moment_opens_as_planned() -> None:
    known = replace(PLANNED, opens=EIGHT + MINUTE)
    assert grant.as_planned(window(), [known], EIGHT + MINUTE).opens == EIGHT + MINUTE
    assert grant.as_planned(window(), [known], EIGHT).opens == EIGHT


def test_a_command_is_as_it_was_given_where_nothing_is_planned_for_it() -> None:
    assert grant.as_planned(window(), [replace(PLANNED, id="other")], EIGHT) == window()
    assert grant.as_planned(window(), [lease(closes=300, nodes=1)], EIGHT) == window()


def paused(hours: int | None) -> Changes:
    return Changes((Pause("tom", EIGHT - HOUR, None if hours is None else EIGHT + hours * HOUR),))


def test_a_pause_refuses_a_person_until_it_is_over_and_keeps_a_window_s_lease() -> None:
    person = asked(order(), changes=paused(2))
    windows = asked(window(), PLANNED, changes=paused(2))

    assert (person.outcome, person.lease, person.earliest, person.for_now) == (
        "refused", None, EIGHT + 2 * HOUR, False
    )  # fmt: skip
    assert (windows.outcome, windows.lease, windows.earliest, windows.for_now) == (
        "refused",
        PLANNED,
        None,
        True,
    )
    assert asked(window(), changes=paused(2)).for_now
    assert asked(order(), changes=paused(None)).earliest is None


def test_after_a_pause_a_person_gets_the_same_lease_where_there_is_room_and_money() -> None:
    full = lease("late", opens=120, closes=180, nodes=3, state=LeaseState.PLANNED)
    until = EIGHT + 24 * 15 * HOUR

    assert asked(order(), full, changes=paused(2)).earliest == EIGHT + 3 * HOUR
    assert asked(order(), full, changes=paused(3)).earliest == EIGHT + 3 * HOUR
    assert asked(order(), changes=paused(24 * 15)).earliest == until
    assert asked(order(), changes=paused(24 * 15), budgets={"2026-11": MONEY["2026-11"]}).earliest is None


def test_what_was_ordered_before_a_pause_goes_on() -> None:
    going = lease(ordered=EIGHT - MINUTE)
    assert asked(window(), going, changes=paused(2)).outcome == "granted"
    assert asked(window(), replace(going, ordered=None), changes=paused(2)).outcome == "refused"


@pytest.mark.parametrize(("after", "granted"), [(30 * MINUTE, True), (30 * MINUTE + SECOND, False)])
def test_a_window_moved_by_more_than_half_an_hour_waits(after: timedelta, granted: bool) -> None:
    moved = replace(PLANNED, opens=EIGHT + after)

    answer = asked(window(), moved)

    if granted:
        assert answer.outcome == "granted"
    else:
        reason = "the evening lease was moved and opens at 20:30 on 2026-11-20 (Etc/UTC)"
        assert answer == GrantDecision("refused", reason, moved, for_now=True)
