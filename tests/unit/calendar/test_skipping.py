"""Whether a date of a window is skipped or put back: the whole answer, with its reason."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.calendar.skipping import Skipping, skip, unskip
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.lab.model import Lab
from tests.builders.leases import lease
from tests.drawn import drawn
from tests.unit.pool.test_standing import Lectures

# A Friday evening; the window opens an hour later, and on the next day.
NOW = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
OPENS = NOW + HOUR
TODAY, TOMORROW = "2026-11-20", "2026-11-21"
EVENING = {
    "name": "evening",
    "nodes": 2,
    "days": ["fri", "sat"],
    "start": "21:00",
    "end": "23:00",
    "owner": "class",
}
LEASE = lease(f"evening-{TODAY}", 60, 180, state=LeaseState.PLANNED, window="evening", date=TODAY)


def opening(on: str) -> PlannedWindow:
    day = date.fromisoformat(on)
    begins = int(datetime(day.year, day.month, day.day, 21, tzinfo=UTC).timestamp())
    return PlannedWindow("evening", "gpu", day, 2, begins, begins + 7200, (), "class", 0)


def lab(*windows: dict[str, Any]) -> Lab:
    return Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": list(windows)})


def command(
    verb: Verb, on: str | None = None, because: str | None = None, window: str = "evening"
) -> Command:
    given = Command("c", verb, "*", "alice", "alice", "cli", NOW, NOW + HOUR)
    return replace(given, window=window, date=on, because=because)


def skipped(
    on: str | None = None,
    *skips: Skip,
    now: datetime = NOW,
    leases: tuple[Lease, ...] = (),
    because: str | None = None,
    windows: tuple[dict[str, Any], ...] = (EVENING,),
) -> Skipping:
    given = command(Verb.SKIP, on, because)
    return drawn(skip(given, lab(*windows), skips, leases, now=now))


def put_back(
    on: str | None = None, *skips: Skip, now: datetime = NOW, because: str | None = None
) -> Skipping:
    return drawn(unskip(command(Verb.UNSKIP, on, because), lab(EVENING), skips, now=now))


def taken(on: str, by: str = "bob") -> Skip:
    return Skip("evening", on, by, NOW - HOUR)


def test_where_no_date_is_named_the_next_opening_is_skipped() -> None:
    assert skipped() == Skipping(
        "skipped",
        "evening does not open at 21:00 on 2026-11-20 (Etc/UTC): alice skipped it",
        opening(TODAY),
        Skip("evening", TODAY, "alice", NOW),
    )
    assert skipped(because="the holiday") == Skipping(
        "skipped",
        "evening does not open at 21:00 on 2026-11-20 (Etc/UTC): alice skipped it because the holiday",
        opening(TODAY),
        Skip("evening", TODAY, "alice", NOW, "the holiday"),
    )


def test_an_opening_that_is_skipped_or_has_begun_is_not_the_next() -> None:
    assert skipped(None, taken(TODAY)).opening == opening(TOMORROW)
    assert skipped(now=OPENS - SECOND).opening == opening(TODAY)
    assert skipped(now=OPENS).opening == opening(TOMORROW)
    assert skipped(None, replace(taken(TODAY), window="morning")).opening == opening(TODAY)


def test_a_named_date_may_have_begun_while_nothing_runs() -> None:
    assert skipped(TODAY, now=OPENS + HOUR).opening == opening(TODAY)
    assert skipped(TOMORROW).opening == opening(TOMORROW)


def test_what_is_skipped_already_stays_as_it_is() -> None:
    assert skipped(TODAY, taken(TODAY)) == Skipping("unchanged", f"bob skipped evening on {TODAY}")


@pytest.mark.parametrize(("on", "now", "reason"), [
    ("2026-11-22", NOW, f"evening does not open on 2026-11-22; it opens next on {TODAY}"),
    ("2026-11-22", OPENS, f"evening does not open on 2026-11-22; it opens next on {TOMORROW}"),
    # At its end an opening is no more ahead.
    (TODAY, OPENS + 2 * HOUR, f"evening does not open on {TODAY}; it opens next on {TOMORROW}"),
    ("20261120", NOW, "'20261120' is not a date: write it like 2026-12-01"),
    ("2026-02-30", NOW, "'2026-02-30' is not a date: write it like 2026-12-01"),
    ("x" * 81, NOW, f"'{'x' * 80}' is not a date: write it like 2026-12-01"),
])  # fmt: skip
def test_a_date_on_which_nothing_opens_is_refused(on: str, now: datetime, reason: str) -> None:
    assert skipped(on, now=now) == Skipping("refused", reason)


def test_a_window_that_opens_no_more_has_nothing_to_skip() -> None:
    once = {**EVENING, "days": "fri", "until": TODAY}

    assert skipped(now=OPENS, windows=(once,)) == Skipping(
        "refused", "evening has no opening ahead that could be skipped"
    )
    assert skipped("2026-12-04", now=OPENS, windows=(once,)) == Skipping(
        "refused", "evening does not open on 2026-12-04"
    )


def test_the_next_opening_is_looked_for_over_a_year_and_a_month() -> None:
    def found(ahead: int) -> str:
        day = (NOW + timedelta(days=ahead)).date().isoformat()
        return skipped(windows=({**EVENING, "days": "daily", "from": day},)).outcome

    assert (found(399), found(400)) == ("skipped", "refused")


def test_a_window_that_the_lab_has_not_is_refused_with_those_it_has() -> None:
    def unknown(*windows: dict[str, Any]) -> Skipping:
        given = command(Verb.SKIP, window="night")
        return drawn(skip(given, lab(*windows), (), (), now=NOW))

    morning = {**EVENING, "name": "morning"}
    assert unknown(EVENING, morning) == Skipping(
        "refused", "the lab has no window 'night'; it has evening and morning"
    )
    assert unknown() == Skipping("refused", "the lab has no window 'night'; it has no windows")


@pytest.mark.parametrize(("state", "because", "outcome", "reason"), [
    (LeaseState.OPEN, None, "refused", (f"evening on {TODAY} is open until 23:00 on 2026-11-20 (Etc/UTC); to end it,"
      f" run: lamplighter close evening-{TODAY}")),
    (LeaseState.REFUSED, None, "unchanged", f"evening on {TODAY} does not open anyway"),
    (LeaseState.REFUSED, "no money", "unchanged", f"evening on {TODAY} does not open anyway: no money"),
    (LeaseState.CLOSING, None, "refused", f"evening on {TODAY} is closing: nothing is left to skip"),
    (LeaseState.CLOSED, None, "refused", f"evening on {TODAY} is closed: nothing is left to skip"),
])  # fmt: skip
def test_what_was_decided_about_an_opening_is_not_skipped(
    state: LeaseState, because: str | None, outcome: str, reason: str
) -> None:
    decided = replace(LEASE, state=state, because=because)
    assert skipped(leases=(decided,)) == Skipping(outcome, reason)
    assert skipped(leases=(LEASE,)).outcome == "skipped"
    assert skipped(TOMORROW, leases=(decided,)).outcome == "skipped"


def test_where_no_date_is_named_the_first_that_was_skipped_is_put_back() -> None:
    there = (taken(TOMORROW), taken(TODAY))

    assert put_back(None, *there) == Skipping(
        "unskipped",
        "evening opens at 21:00 on 2026-11-20 (Etc/UTC) after all: alice took its skip back",
        opening(TODAY),
        taken(TODAY),
    )
    assert put_back(TOMORROW, *there, because="it rains") == Skipping(
        "unskipped",
        "evening opens at 21:00 on 2026-11-21 (Etc/UTC) after all: alice took its skip back because it rains",
        opening(TOMORROW),
        taken(TOMORROW),
    )


@pytest.mark.parametrize(
    ("now", "when"), [(OPENS - SECOND, "at 21:00 on 2026-11-20 (Etc/UTC) after all"), (OPENS, "now, late")]
)
def test_what_is_put_back_after_its_opening_opens_late(now: datetime, when: str) -> None:
    assert put_back(TODAY, taken(TODAY), now=now).reason == (
        f"evening opens {when}: alice took its skip back"
    )


def test_what_is_not_skipped_or_has_passed_cannot_be_put_back() -> None:
    passed = f"evening on {TODAY} has passed, or is no longer in the calendar"

    assert put_back() == Skipping("unchanged", "evening is not skipped")
    assert put_back(TODAY) == Skipping("unchanged", f"evening is not skipped on {TODAY}")
    assert put_back(TODAY, replace(taken(TODAY), window="x")) == put_back(TODAY)
    assert put_back(TODAY, taken(TODAY), now=OPENS + 2 * HOUR) == Skipping("refused", passed)
    assert put_back("today") == Skipping("refused", "'today' is not a date: write it like 2026-12-01")


def test_of_two_events_on_one_date_the_first_is_meant() -> None:
    follows = lab({"name": "evening", "calendar": "https://example.org/c.ics"})
    begins, day = int(OPENS.timestamp()), OPENS.date()
    events = tuple(
        CourseEvent(name, "Lecture", day, begins + ahead, begins + ahead + 600, 600)
        for name, ahead in (("bb22", 900), ("aa11", 0), ("cc33", 1800))
    )
    course = {"evening": Lectures(events, "UTC")}

    def taken_out(on: str | None) -> str:
        given = command(Verb.SKIP, on)
        found = skip(given, follows, (), (), now=NOW, courses=course)
        return found.opening.event if found.opening else str(found.reason)

    def back(on: str | None) -> str:
        given = command(Verb.UNSKIP, on)
        found = unskip(given, follows, [taken(TODAY)], now=NOW, courses=course)
        return found.opening.event if found.opening else str(found.reason)

    assert [taken_out(None), taken_out(TODAY), back(None), back(TODAY)] == ["aa11"] * 4
