"""What an extend command gets, as a whole answer, and what is held for nodes that do not come."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import extension
from lamplighter.domain.granting.extension import Extension, furthest, meant
from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from tests.builders.leases import EIGHT, HOUR, MINUTE, lease, usd
from tests.drawn import drawn
from tests.unit.granting.test_grants import POOL

MONEY = BudgetPeriod("2026-11", usd(0), usd(0))
MINE = lease("mine", owner="alice", window=None, source="cli", asked_until=EIGHT)
CURFEW_AT_TEN = replace(POOL, curfew=Curfew(22 * 60, POOL.zone))


def order(**more: Any) -> Command:
    """alice asks for more of what runs."""
    given = Command("e1", Verb.EXTEND, "gpu", "alice", "alice", "cli", EIGHT, EIGHT + 15 * MINUTE)
    return replace(given, **more)


def asked(
    command: Command,
    *leases: Lease,
    terms: Terms = POOL,
    budget: BudgetPeriod | None = MONEY,
    minutes: int = 0,
) -> Extension:
    return drawn(extension.decide(command, terms, leases, budget, now=EIGHT + minutes * MINUTE, generation=3))


def test_the_lease_that_is_named_is_meant_whoever_s_it_is_and_whatever_its_state() -> None:
    over = lease("over", state=LeaseState.CLOSED)
    assert meant(order(lease="over"), [MINE, over], EIGHT) == over
    assert meant(order(lease="gone"), [MINE, over], EIGHT) is None


def test_ones_own_that_ends_last_is_meant_then_any_that_ends_last() -> None:
    later, longest = replace(MINE, id="later", closes=EIGHT + 3 * HOUR), lease("class", closes=400)
    to_come = replace(MINE, id="to-come", opens=EIGHT + MINUTE, closes=EIGHT + 9 * HOUR)

    assert meant(order(), [MINE, later, longest, to_come], EIGHT) == later
    assert meant(order(owner="bob"), [MINE, later, longest, to_come], EIGHT) == longest
    assert meant(order(), [to_come], EIGHT) is None


def test_a_lease_is_extended_by_the_usual_length_at_the_price_of_its_grant_for_the_nodes_that_came() -> None:
    dear = replace(MINE, price_per_hour=Decimal(3), missing=1)

    assert asked(order(), dear) == Extension(
        "extended",
        "alice's lease ends at 23:00 on 2026-11-20 (Etc/UTC), instead of 22:00 on 2026-11-20 (Etc/UTC), by alice; "
        "7.00 USD is held",
        dear,
        replace(dear, closes=EIGHT + 3 * HOUR, hold=usd(7), asked_until=None),
    )


def test_a_length_or_an_end_is_taken_as_it_is_said_in_whole_seconds() -> None:
    for said in ({"lasting": 90 * MINUTE}, {"closes": EIGHT + timedelta(hours=3.5, microseconds=8)}):
        after = asked(order(**said), MINE).after
        assert after is not None
        assert (after.closes, after.hold) == (EIGHT + 3.5 * HOUR, usd(7))


def test_what_a_window_asks_for_is_kept_as_its_end_and_what_a_person_asks_for_is_not() -> None:
    end = EIGHT + 3 * HOUR
    by_window = asked(order(closes=end, source="window"), MINE).after
    by_person = asked(order(closes=end), MINE).after

    assert by_window is not None
    assert by_person is not None
    assert (by_window.asked_until, by_person.asked_until) == (end, None)


def test_without_a_lease_in_force_nothing_is_extended() -> None:
    nothing = Extension("refused", "pool gpu has no lease in force that could be extended")
    over = replace(MINE, state=LeaseState.CLOSED)

    assert asked(order()) == nothing
    assert asked(order(), MINE, budget=None) == nothing
    assert asked(order(lease="mine"), over) == Extension(
        "refused", "alice's lease is closed and ended at 22:00 on 2026-11-20 (Etc/UTC); open anew", over
    )


def test_an_extension_that_is_too_old_is_refused() -> None:
    assert asked(order(), MINE, minutes=14).outcome == "extended"
    assert str(asked(order(), MINE, minutes=15).reason).startswith(
        "the command to extend pool gpu was good until 20:15 on"
    )
    assert asked(order(generation=2), MINE).reason == (
        "the command to extend pool gpu was given for state 2, and it is in 3 by now"
    )


@pytest.mark.parametrize(("minutes", "extended"), [(0, False), (1, True)])
def test_an_extension_adds_something(minutes: int, extended: bool) -> None:
    answer = asked(order(closes=MINE.closes + minutes * MINUTE), MINE)

    if extended:
        assert answer.outcome == "extended"
    else:
        assert answer == Extension(
            "refused", "alice's lease ends at 22:00 on 2026-11-20 (Etc/UTC) anyway", MINE
        )


def test_a_person_shortens_no_lease() -> None:
    assert asked(order(closes=EIGHT + HOUR), MINE) == Extension(
        "refused", "alice's lease ends at 22:00 on 2026-11-20 (Etc/UTC) anyway", MINE
    )


def test_a_lease_lasts_no_longer_than_the_longest_its_early_minutes_apart() -> None:
    early = replace(MINE, ready_by=EIGHT + 20 * MINUTE)

    assert asked(order(closes=EIGHT + 8 * HOUR), MINE).outcome == "extended"
    assert asked(order(closes=EIGHT + 8 * HOUR + MINUTE), MINE) == Extension(
        "refused",
        "alice's lease would last longer than guard.longest_lease allows; it can be extended until "
        "04:00 on 2026-11-21 (Etc/UTC) at most",
        MINE,
    )
    assert asked(order(closes=EIGHT + 8 * HOUR + 20 * MINUTE), early).outcome == "extended"


def test_whoever_is_granted_or_planned_over_the_added_time_goes_first() -> None:
    planned = lease("late", opens=150, closes=240, state=LeaseState.PLANNED)
    evening = replace(lease("evening-1"), order=1)

    # A window's own extension gives way as well: what is planned was promised before.
    for one in (MINE, evening):
        assert asked(order(lease=one.id, lasting=30 * MINUTE), one, planned).outcome == "extended"
        assert asked(order(lease=one.id, lasting=31 * MINUTE), one, planned).reason == (
            "pool gpu is promised to others from 22:30 on 2026-11-20 (Etc/UTC)"
        )
    assert asked(order(), replace(MINE, nodes=1), planned).outcome == "extended"


def test_money_that_is_planned_for_windows_is_not_there_to_extend_with() -> None:
    planned = lease("late", opens=300, closes=360, state=LeaseState.PLANNED, hold=usd(97))

    assert asked(order(), MINE, planned, budget=replace(MONEY, spent=usd(1))).outcome == "extended"
    assert asked(order(), MINE, planned, budget=replace(MONEY, spent=usd("1.5"))) == Extension(
        "refused",
        "it would cost 2.00 USD more, and of the 100.00 USD for the month 1.50 USD is left, with 97.00 USD planned "
        "for windows, until 00:00 on 2026-12-01 (Etc/UTC)",
        MINE,
    )


def test_the_furthest_end_is_the_longest_lease_the_curfew_or_its_own() -> None:
    assert furthest(MINE, POOL) == EIGHT + 8 * HOUR
    assert furthest(replace(MINE, ready_by=EIGHT + 10 * MINUTE), POOL) == EIGHT + 8 * HOUR + 10 * MINUTE
    assert furthest(replace(MINE, closes=EIGHT + 9 * HOUR), POOL) == EIGHT + 9 * HOUR
    assert furthest(MINE, CURFEW_AT_TEN) == EIGHT + 2 * HOUR
    assert furthest(replace(MINE, closes=EIGHT + HOUR), CURFEW_AT_TEN) == EIGHT + 2 * HOUR
