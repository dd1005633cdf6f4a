"""When what goes on pages again: more and more rarely, and anew after a rest."""

from datetime import datetime, timedelta

import pytest

from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.incident import Incident, next_page, pages_again, retry_after
from tests.builders.leases import EIGHT, MINUTE

HOUR = 60 * MINUTE
SECOND = timedelta(seconds=1)


def pages(now: datetime, *said: tuple[timedelta, bool]) -> bool:
    """Whether what was said so long before now pages again."""
    return pages_again(
        [EarlierBreach(Rule.LEAKED, GuardAction.SAY, None, now - age, paged=paged) for age, paged in said],
        now,
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


@pytest.mark.parametrize(("age", "again"), [(15 * MINUTE - SECOND, False), (15 * MINUTE, True)])
def test_the_second_page_is_due_a_quarter_of_an_hour_after_the_first(age: timedelta, again: bool) -> None:
    assert pages(EIGHT, (age, True), (MINUTE, False)) is again


@pytest.mark.parametrize(
    ("paged_after", "pages", "due"),
    [
        (timedelta(), 0, 15 * MINUTE),
        (15 * MINUTE - SECOND, 0, 15 * MINUTE),
        (15 * MINUTE, 0, 60 * MINUTE),
        (60 * MINUTE, 2, 4 * HOUR),
        (4 * HOUR - SECOND, 1, 4 * HOUR),
        (28 * HOUR, 1, 52 * HOUR),
    ],
)
def test_the_next_page_comes_after_the_last_one(paged_after: timedelta, pages: int, due: timedelta) -> None:
    assert next_page(Incident(EIGHT, pages=pages, paged_at=EIGHT + paged_after)) == EIGHT + due


def test_what_paged_twice_within_the_day_does_not_page_again_as_the_day_is_over() -> None:
    since = [(23 * HOUR - number * 30 * MINUTE, False) for number in range(46)]
    twice = [(24 * HOUR, True), (24 * HOUR - 30 * MINUTE, True)]
    assert not pages(EIGHT, *twice, *since)
    assert pages(EIGHT, twice[0], (twice[1][0], False), *since)


def test_an_incident_begins_without_closes_and_pages_and_its_first_page_is_due_at_once() -> None:
    begun = Incident(EIGHT)
    assert (begun.tries, begun.pages, next_page(begun)) == (0, 0, EIGHT)
    assert not begun.silenced(EIGHT)
    assert retry_after(begun.tries) == 5 * MINUTE


@pytest.mark.parametrize(("left", "silenced"), [(SECOND, True), (timedelta(), False), (-SECOND, False)])
def test_pages_are_silenced_until_the_instant_that_was_said(left: timedelta, silenced: bool) -> None:
    assert Incident(EIGHT, silenced_until=EIGHT + left).silenced(EIGHT) is silenced


def test_however_often_a_pool_was_closed_again_the_next_time_comes_within_the_hour() -> None:
    assert retry_after(10_000) == HOUR
