"""The copy of a calendar at an address: when it is read again, what stays of it, and what people are told."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.calendar.course import Change, CourseEvent
from lamplighter.domain.calendar.course_copy import CourseCopy, fingerprint, news, seen, unseen
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from tests.drawn import english

NINE = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
HERE, THERE = "https://school.example/a.ics", "https://other.example/a.ics"
GOOD = seen(HERE, "text", NINE)
LOST = unseen(GOOD, HERE, "it answers 503", NINE + HOUR)
NEVER = unseen(None, HERE, "it answers 404", NINE)
SAME = Change((), (), ())


def event(number: int, hours: float = 0, lasting: int = 2) -> CourseEvent:
    opens = NINE + hours * HOUR
    opening, closing = int(opens.timestamp()), int((opens + lasting * HOUR).timestamp())
    return CourseEvent(f"{number}", f"Class {number}", opens.date(), opening, closing, closing - opening)


def added(number: int) -> Change:
    return Change(tuple(event(each) for each in range(number)), (), ())


def told(before: CourseCopy | None, after: CourseCopy, change: Change = SAME) -> str | None:
    return english(news("course", before, after, change)) or None


@pytest.mark.parametrize(("address", "after", "due"), [
    (HERE, 50 * MINUTE - SECOND, False), (HERE, 50 * MINUTE, True), (THERE, SECOND, True),
])  # fmt: skip
def test_an_address_is_read_again_after_fifty_minutes_and_another_one_at_once(
    address: str, after: timedelta, due: bool
) -> None:
    assert GOOD.is_due(address, NINE + after) is due


def test_a_failed_reading_leaves_the_last_good_copy_of_the_same_address() -> None:
    lost, never = (
        unseen(GOOD, HERE, "it answers 503", NINE + HOUR),
        unseen(None, HERE, "it answers 404", NINE),
    )

    assert lost == CourseCopy(fingerprint(HERE), NINE + HOUR, "text", read=NINE, problem="it answers 503")
    assert unseen(GOOD, THERE, "it answers 404", NINE) == CourseCopy(
        fingerprint(THERE), NINE, problem="it answers 404"
    )
    assert never == CourseCopy(fingerprint(HERE), NINE, problem="it answers 404")
    assert not LOST.is_due(HERE, NINE + HOUR + 49 * MINUTE)


@pytest.mark.parametrize(("before", "after", "said"), [
    (None, NEVER, "the calendar of window course cannot be read, so the window opens nothing: it answers 404"),
    (NEVER, NEVER, None),
    (GOOD, LOST,
     ("the calendar of window course cannot be read: it answers 503; the plan keeps its events as they were at "
      "09:00 on 2026-11-20 (Etc/UTC)")),
    (LOST, LOST, None),
    (GOOD, unseen(GOOD, THERE, "it answers 404", NINE),
     "the calendar of window course cannot be read, so the window opens nothing: it answers 404"),
    (LOST, unseen(LOST, THERE, "it answers 404", NINE),
     "the calendar of window course cannot be read, so the window opens nothing: it answers 404"),
    (GOOD, GOOD, None),
    (LOST, GOOD, "the calendar of window course can be read again; its events have not changed"),
    (None, GOOD, "window course follows its calendar: 0 events in the next 60 days"),
    (NEVER, GOOD, "window course follows its calendar: 0 events in the next 60 days"),
    (GOOD, seen(THERE, "text", NINE), "window course follows its calendar: 0 events in the next 60 days"),
])  # fmt: skip
def test_what_is_new_of_a_reading_is_said_once(
    before: CourseCopy | None, after: CourseCopy, said: str | None
) -> None:
    assert told(before, after) == said


def test_a_calendar_that_is_followed_anew_is_told_with_its_events() -> None:
    assert told(None, GOOD, added(1)) == "window course follows its calendar: 1 event in the next 60 days"
    assert told(NEVER, GOOD, added(2)) == "window course follows its calendar: 2 events in the next 60 days"


def test_what_has_changed_is_told_event_by_event() -> None:
    change = Change(
        (event(1),), ((event(2), event(2, hours=1)), (event(3), event(3, lasting=3))), (event(4),)
    )

    assert told(GOOD, GOOD, change) == (
        "the calendar of window course has changed: "
        "Class 1 at 09:00 on 2026-11-20 (Etc/UTC) is new; "
        "Class 2 at 09:00 on 2026-11-20 (Etc/UTC) is now at 10:00 on 2026-11-20 (Etc/UTC); "
        "Class 3 at 09:00 on 2026-11-20 (Etc/UTC) now ends at 12:00 on 2026-11-20 (Etc/UTC); "
        "Class 4 at 09:00 on 2026-11-20 (Etc/UTC) is gone"
    )
    assert told(LOST, GOOD, change) == told(GOOD, GOOD, change)


@pytest.mark.parametrize(
    ("number", "more"), [(5, ""), (6, "; and 1 more like these"), (7, "; and 2 more like these")]
)
def test_five_changes_are_named_and_the_rest_is_counted(number: int, more: str) -> None:
    five = "; ".join(f"Class {each} at 09:00 on 2026-11-20 (Etc/UTC) is new" for each in range(5))
    assert told(GOOD, GOOD, added(number)) == f"the calendar of window course has changed: {five}{more}"


def test_the_news_of_thousands_of_changes_fits_an_item_of_the_ledger() -> None:
    """DynamoDB takes 400 KiB; a timetable that moves by an hour changes every event."""
    moved = Change((), tuple((event(each), event(each, hours=1)) for each in range(2000)), ())
    assert len(json.dumps(document(news("course", GOOD, GOOD, moved) or ""))) < 2000


def test_the_ledger_keeps_a_problem_as_a_code_and_reads_the_sentence_of_an_older_release(
    ledger: Ledger,
) -> None:
    coded = replace(LOST, problem=reason("calendar.web.status", host="school.example", status="503"))
    ledger.keep_course_copy("coded", coded)
    ledger.keep_course_copy("old", LOST)
    assert ledger.course_copies() == {"coded": coded, "old": LOST}
