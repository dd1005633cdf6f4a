"""The plan of a deployed lab explains each opening, and each opening that does not happen."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from lamplighter.domain.calendar.changes import Pause, Skip
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.occurrences import Code, SkippedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.planner.planner import CalendarInputs
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said
from lamplighter.reasons.reason import reason as made
from tests.builders.leases import EIGHT, HOUR
from tests.unit.planner.test_live import ALICES, EMPTY, EVENING, PLAIN, seen, within
from tests.unit.pool.test_standing import Lectures


def test_a_window_of_the_lab_is_told_with_its_lease_s_own_times_owner_and_event() -> None:
    (window,) = within(replace(EVENING, ready_by=EIGHT + 2 * HOUR)).windows

    assert (window.window, window.pool, window.date, window.nodes) == (
        "evening",
        "gpu",
        date(2026, 11, 20),
        1,
    )
    assert (window.opens, window.closes, window.owner, window.order) == (
        EIGHT + HOUR,
        EIGHT + 3 * HOUR,
        "class",
        3,
    )
    assert (window.event, window.ready_by) == ("ab12", int((EIGHT + 2 * HOUR).timestamp()))
    assert (window.lease, within(EVENING).windows[0].ready_by) == (EVENING.id, None)


def test_a_lease_that_opens_early_says_by_when_its_gpus_are_ready() -> None:
    ready_by = EIGHT + HOUR + timedelta(minutes=10)
    early = replace(EVENING, ready_by=ready_by)

    def notes(lease: Lease) -> tuple[Said, ...]:
        return next(one.notes for one in within(lease).windows if one.window == lease.window)

    note = made("calendar.early", early=timedelta(minutes=10), ready_by=ready_by)
    assert notes(early) == notes(replace(early, window="gone")) == (note,)
    assert notes(EVENING) == ()


def test_a_lease_of_nobody_s_window_says_whose_it_is_on_the_lab_s_own_date() -> None:
    seoul = EMPTY.model_copy(update={"time_zone": "Asia/Seoul"})
    late = replace(ALICES, opens=EIGHT, closes=EIGHT + HOUR, by=None, because=None)

    (window,) = within(late, lab=seoul).windows

    assert (window.window, window.date, window.notes, window.event) == (
        "cli-1",
        date(2026, 11, 21),
        (made("calendar.of-person", owner="alice", by="cli"),),
        "",
    )


FULL = made("lease.pool-full", pool="gpu", at="21:00", leases="the b lease (2)", nodes=1, wanted=3, most=2)


@pytest.mark.parametrize(
    ("because", "code", "reason"),
    [
        (FULL, Code.POOL_FULL, FULL),
        ("what an older release kept", Code.OVER_BUDGET, "what an older release kept"),
        ("it would cost 4 USD", Code.OVER_BUDGET, "it would cost 4 USD"),
        (None, Code.OVER_BUDGET, made("calendar.refused")),
    ],
)
def test_a_refused_window_stays_so_with_its_reason(because: Said | None, code: Code, reason: Said) -> None:
    refused = replace(EVENING, state=LeaseState.REFUSED, because=because)
    assert within(refused).skipped == [SkippedWindow("evening", "gpu", date(2026, 11, 20), code, reason, 3)]
    assert seen(within(replace(refused, window=None))) == 0


def test_what_a_pause_keeps_closed_is_told_by_its_name() -> None:
    pause = Pause("bob", EIGHT)

    (window,) = within(EVENING, pauses=(pause,)).skipped
    (lease,) = within(replace(ALICES, date=None), pauses=(pause,)).skipped

    assert (window.window, window.code, window.reason) == ("evening", Code.EXCEPTED, pause.reason())
    assert (lease.window, lease.date) == ("cli-1", date(2026, 11, 21))
    ordered = replace(EVENING, state=LeaseState.OPEN, ordered=EIGHT)
    assert (within(ordered, pauses=(pause,)).windows[0].notes, seen(within(ordered, pauses=(pause,)))) == (
        (),
        1,
    )


def test_a_date_of_a_course_that_somebody_took_out_is_told() -> None:
    course = Lab.model_validate(
        {**PLAIN, "windows": [{"name": "course", "calendar": "https://example.org/c.ics"}]}
    )
    begins = int(EIGHT.timestamp()) + 3600
    lectures = Lectures((CourseEvent("ab12", "Lecture", EIGHT.date(), begins, begins + 3600, 3600),), "UTC")
    skip = Skip("course", "2026-11-20", "bob", EIGHT)

    found = within(lab=course, skips=(skip,), beside=CalendarInputs(courses={"course": lectures}))

    assert (found.windows, [one.reason for one in found.skipped]) == ([], [skip.reason()])
    assert len(within(lab=course, beside=CalendarInputs(courses={"course": lectures})).windows) == 1
