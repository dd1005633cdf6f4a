"""When the first shot of a failsafe must fire: ten minutes after the last end of what runs."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lamplighter.domain.breach import Action, Rule, Said
from lamplighter.domain.failsafe import failsafe_instant
from lamplighter.domain.incident import pages_again
from lamplighter.domain.lease import LeaseState
from tests.unit.test_guard import EIGHT, MINUTE, lease

HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        (LeaseState.PLANNED, False),
        (LeaseState.ADMITTED, True),
        (LeaseState.OPENING, True),
        (LeaseState.OPEN, True),
        (LeaseState.CLOSING, True),
        (LeaseState.CLOSED, False),
        (LeaseState.REFUSED, False),
    ],
)
def test_a_granted_lease_and_one_that_is_being_closed_run(state: LeaseState, runs: bool) -> None:
    at = failsafe_instant([lease(closes=30, state=state)], EIGHT)

    assert at == (EIGHT + 40 * MINUTE if runs else None)


def test_it_follows_the_last_end_of_leases_that_have_begun_one_that_is_over_included() -> None:
    over = lease("over", closes=-30)
    long = lease("long", opens=0, closes=60)
    later = lease("later", opens=1, closes=300)

    assert failsafe_instant([], EIGHT) is None
    assert failsafe_instant([later], EIGHT) is None
    assert failsafe_instant([over], EIGHT) == EIGHT - 20 * MINUTE
    assert failsafe_instant([long, over, later], EIGHT) == EIGHT + 70 * MINUTE


def test_it_is_a_whole_second() -> None:
    odd = replace(lease(), closes=EIGHT + timedelta(seconds=5, microseconds=7))

    assert failsafe_instant([odd], EIGHT) == EIGHT + timedelta(minutes=10, seconds=5)


def pages(now: datetime, *said: tuple[timedelta, bool]) -> bool:
    """Whether what was said so long before now pages again."""
    return pages_again(
        [Said(Rule.LEAKED, Action.SAY, None, now - age, paged=paged) for age, paged in said], now
    )


def thrice(age: timedelta) -> list[tuple[timedelta, bool]]:
    """Three pages, the last of them so long ago: the next one is due four hours after the first."""
    return [(age + 2 * MINUTE, True), (age + MINUTE, True), (age, True)]


def test_what_was_not_said_for_more_than_sixty_five_minutes_is_new() -> None:
    quiet, second = 65 * MINUTE, timedelta(seconds=1)

    assert pages(EIGHT)
    assert not pages(EIGHT, *thrice(quiet))
    assert pages(EIGHT, *thrice(quiet + second))
    assert not pages(EIGHT, *thrice(quiet + MINUTE), (MINUTE, False))
    assert pages(EIGHT, *thrice(quiet + MINUTE + second), (MINUTE, False))


@pytest.mark.parametrize(("age", "again"), [(24 * HOUR - timedelta(seconds=1), False), (24 * HOUR, True)])
def test_what_goes_on_for_a_day_pages_a_day_after_it_paged_last(age: timedelta, again: bool) -> None:
    """It paged four times at the beginning, which leaves the fifth page to the hour 28, and was said ever since."""
    since = [(age - number * 30 * MINUTE, False) for number in range(1, 48)]

    assert pages(EIGHT, *[(age, True)] * 4, *since) is again
    assert not pages(EIGHT, *[(age, True)] * 4, *since[:-1], (MINUTE, True))
