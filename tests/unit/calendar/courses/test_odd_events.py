"""Events that are no plain ones: all day, backwards, with unreadable dates, or several with one UID."""

import itertools
from datetime import date
from pathlib import Path

import pytest

from lamplighter.adapters.calendars.course import CourseCalendar
from lamplighter.adapters.calendars.text import read
from lamplighter.errors import BadInput
from lamplighter.labfile.file import load
from lamplighter.reasons.reason import reason
from tests.unit.calendar.courses.event_reasons import fault, replaced, unknown_zone
from tests.unit.calendar.courses.test_calendar import SEOUL, calendar, events, hours, refused
from tests.unit.calendar.courses.test_files import LAB, lab, simulated

EVENING = f"DTSTART;TZID={SEOUL}:20260302T200000|DTEND;TZID={SEOUL}:20260302T230000"
DAILY = f"{EVENING}|RRULE:FREQ=DAILY;COUNT=3"
ALL_DAY = fault("Class 0", "calendar.event.all-day")


# --- no window -----------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [
    f"DTSTART;TZID={SEOUL};VALUE=DATE:20260302|DTEND;TZID={SEOUL};VALUE=DATE:20260303",
    f"DTSTART;TZID={SEOUL}:20260302",
    f'DTSTART;VALUE=DATE;TZID="{SEOUL}":20260302|RRULE:FREQ=MONTHLY;COUNT=2',
    f"DTSTART;TZID={SEOUL}:20260302T000000|DURATION:P1D|X-MICROSOFT-CDO-ALLDAYEVENT:TRUE",
])  # fmt: skip
def test_an_event_that_lasts_all_day_opens_nothing_however_it_is_written(event: str) -> None:
    found = read(calendar(event))
    assert (found.events, found.faults) == (0, (ALL_DAY,))


def test_an_event_without_a_title_is_named_by_its_date() -> None:
    found = read(calendar("DTSTART;VALUE=DATE:20260302").replace(b"SUMMARY:Class 0\r\n", b""))
    assert found.faults == (
        reason(
            "calendar.event.fault",
            event=reason("calendar.event.untitled.on", date=date(2026, 3, 2)),
            fault=reason("calendar.event.all-day"),
        ),
    )


def test_a_series_that_leaves_out_a_time_in_an_unknown_zone_is_left_out_and_said() -> None:
    excluded = "EXDATE;TZID=Nowhere:20260303T200000"
    found = read(calendar(f"{DAILY}|{excluded}", "DTSTART:20260302T200000Z|DURATION:PT1H"))
    assert (found.events, found.faults) == (1, (unknown_zone("Class 0", "Nowhere"),))


@pytest.mark.parametrize("end", ["DURATION:PT202603023H", "DTEND:99991231T235959Z"])
def test_an_event_that_lasts_thousands_of_years_leaves_the_others(end: str) -> None:
    odd = f"DTSTART:20260302T110000Z|{end}|RRULE:FREQ=DAILY;COUNT=3"
    found = read(calendar(odd, "DTSTART:20260302T200000Z|DURATION:PT1H"))
    assert (found.events, found.faults) == (1, (fault("Class 0", "calendar.event.unreadable"),))


@pytest.mark.parametrize(("more", "code"), [
    ("RDATE;VALUE=TIME:100000", "rdate"),
    ("RDATE;VALUE=DATE:20260304", "rdate"),
    ("RDATE;VALUE=PERIOD:20260304T110000Z/20260304T100000Z", "period"),
    ("RDATE;VALUE=PERIOD:20260304T110000Z/-PT1H", "period"),
    ("EXDATE;VALUE=TIME:110000", "exdate"),
    ("EXDATE;VALUE=PERIOD:20260303T110000Z/PT1H", "exdate"),
    ("EXRULE:FREQ=DAILY;INTERVAL=2", "exrule"),
    ("RDATE:99991231T235959Z", "rdate"),
])  # fmt: skip
def test_a_series_with_a_date_that_is_none_is_left_out_and_said(more: str, code: str) -> None:
    found = read(calendar(f"{DAILY}|{more}", "DTSTART:20260302T200000Z|DURATION:PT1H"))
    assert (found.events, found.faults) == (1, (fault("Class 0", f"calendar.event.{code}"),))


def test_a_date_that_is_none_leaves_out_its_event_alone_also_where_it_has_no_uid() -> None:
    broken = calendar(
        f"{DAILY}|RDATE;VALUE=PERIOD:20260304T110000Z/-PT1H", "DTSTART:20260302T200000Z|DURATION:PT1H"
    )
    found = read(broken.replace(b"UID:0@school\r\n", b""))
    assert (found.events, found.faults) == (1, (fault("Class 0", "calendar.event.period"),))


def test_a_begin_that_is_none_leaves_out_its_event_alone() -> None:
    found = read(calendar("DTSTART:99991231T235959ZDTSTART", "DTSTART:20260302T200000Z|DURATION:PT1H"))
    assert (found.events, found.faults) == (1, (fault("Class 0", "calendar.event.unreadable"),))


def test_dates_that_are_empty_leave_nothing_out() -> None:
    for more in ("EXDATE:", "RDATE:", f"EXDATE;TZID={SEOUL}:20260303T200000,|RDATE:"):
        left = 2 if "20260303" in more else 3
        assert len(events(calendar(f"{DAILY}|{more}"))) == left


def test_a_sequence_that_is_no_number_is_none() -> None:
    assert hours(events(calendar(f"{EVENING}|SEQUENCE:x"))) == ["03-02 11:00-14:00"]


def test_a_rule_may_repeat_the_time_of_its_begin() -> None:
    weekly = f"{EVENING}|RRULE:FREQ=WEEKLY;COUNT=2;BYHOUR={{}};BYMINUTE=0"
    assert hours(events(calendar(weekly.format(20)))) == ["03-02 11:00-14:00", "03-09 11:00-14:00"]
    assert read(calendar(weekly.format(9))).faults == (
        fault("Class 0", "calendar.rule.part", frequency="WEEKLY", part="BYHOUR"),
    )


@pytest.mark.parametrize("rule", [
    "FREQ=WEEKLY; COUNT=2; BYDAY=MO, TU",
    "FREQ=WEEKLY;COUNT=2;BYDAY=MO,TU;",
    "freq=weekly;count=2;byday=mo,tu",
])  # fmt: skip
def test_a_rule_is_read_whatever_spaces_and_letters_it_is_written_with(rule: str) -> None:
    assert hours(events(calendar(f"{EVENING}|RRULE:{rule}"))) == ["03-02 11:00-14:00", "03-03 11:00-14:00"]


def test_a_replaced_date_that_repeats_the_rule_of_its_series_is_one_date() -> None:
    found = events(
        calendar(
            f"UID:a|{EVENING}|RRULE:FREQ=DAILY",
            f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260303T200000|DTSTART;TZID={SEOUL}:20260303T100000|DURATION:PT1H"
            "|RRULE:FREQ=DAILY",
        ),
        start="2026-10-01",
        end="2026-10-03",
    )
    assert hours(found) == ["10-01 11:00-14:00", "10-02 11:00-14:00"]


def test_a_cancellation_opens_nothing() -> None:
    found = read(calendar(EVENING, head="METHOD:CANCEL\n"))
    assert found.faults == (fault("Class 0", "calendar.event.called-off"),)


# --- backwards -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [
    f"DTEND;TZID={SEOUL}:20260302T193000",
    "DTEND:20260302T193000",
    "DTEND:20260302T103000Z",
    "DURATION:-PT30M",
])  # fmt: skip
def test_an_event_that_ends_before_it_begins_is_skipped_aloud(tmp_path: Path, end: str) -> None:
    series = f"DTSTART;TZID={SEOUL}:20260302T200000|{end}|RRULE:FREQ=WEEKLY;COUNT=2"
    (tmp_path / "course.ics").write_bytes(calendar(series))
    document = simulated(load(lab(tmp_path, LAB)), "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert document["windows"] == []
    assert [(each["date"], each["code"], each["reason"]) for each in document["skipped"]] == [
        ("2026-03-02", "vanishes", '"Class 0" ends before it begins'),
        ("2026-03-09", "vanishes", '"Class 0" ends before it begins'),
    ]


def test_a_date_of_a_series_that_is_moved_backwards_takes_no_other_with_it() -> None:
    found = events(
        calendar(
            f"UID:a|{DAILY}",
            f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260303T200000|DTSTART;TZID={SEOUL}:20260303T180000"
            f"|DTEND;TZID={SEOUL}:20260303T170000",
        )
    )
    assert hours(found) == ["03-02 11:00-14:00", "03-03 09:00-09:00", "03-04 11:00-14:00"]


# --- one UID -------------------------------------------------------------------------------------


def test_events_that_share_a_uid_all_open_aloud() -> None:
    first, second = (
        "UID:a|DTSTART:20260302T110000Z|DURATION:PT1H",
        "UID:a|DTSTART:20260303T110000Z|DURATION:PT1H",
    )
    for content in (calendar(first, second), calendar(second, first)):
        assert hours(events(content)) == ["03-02 11:00-12:00", "03-03 11:00-12:00"]
    found = read(calendar(first, second))
    assert found.doubts == (reason("calendar.event.shares-uid", event='"Class 1"'),)
    assert [each.id for each in events(calendar(first))] == [events(calendar(first, second))[0].id]


def test_an_event_that_is_there_twice_opens_once() -> None:
    again = f"UID:a|{EVENING}"
    found = read(calendar(again, again))
    assert (found.events, found.faults, found.doubts) == (1, (), ())


def test_of_versions_of_one_event_the_highest_sequence_counts() -> None:
    old, new = f"UID:a|{EVENING}|SEQUENCE:1", "UID:a|DTSTART:20260305T110000Z|DURATION:PT1H|SEQUENCE:2"
    for content in (calendar(old, new), calendar(new, old)):
        assert hours(events(content)) == ["03-05 11:00-12:00"]
    assert read(calendar(old, new)).faults == (replaced("Class 0"),)


def test_a_later_version_that_lasts_all_day_does_not_bring_the_older_back() -> None:
    found = read(calendar(f"UID:a|{EVENING}", "UID:a|DTSTART;VALUE=DATE:20260302|SEQUENCE:1"))
    assert found.events == 0


def test_of_versions_of_one_replaced_date_the_latest_counts() -> None:
    moved = f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260303T200000|DTSTART;TZID={SEOUL}:20260303T{{}}0000|DURATION:PT1H"
    found = calendar(f"UID:a|{DAILY}", f"{moved.format(10)}|SEQUENCE:2", f"{moved.format(15)}|SEQUENCE:1")
    assert hours(events(found)) == ["03-02 11:00-14:00", "03-03 01:00-02:00", "03-04 11:00-14:00"]
    assert read(found).faults == (replaced("Class 2"),)


def test_a_replaced_date_belongs_to_the_series_that_has_it() -> None:
    morning = DAILY.replace("T20", "T09").replace("T23", "T10")
    for order in ((DAILY, morning), (morning, DAILY)):
        found = events(
            calendar(
                *(f"UID:a|{series}" for series in order),
                f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260303T090000|DTSTART;TZID={SEOUL}:20260303T150000|DURATION:PT1H",
            )
        )
        assert hours(found) == [
            "03-02 00:00-01:00",
            "03-02 11:00-14:00",
            "03-03 06:00-07:00",
            "03-03 11:00-14:00",
            "03-04 00:00-01:00",
            "03-04 11:00-14:00",
        ]


# --- called off ----------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["", "METHOD:PUBLISH\n", "METHOD:REQUEST\n"])
@pytest.mark.parametrize("begin", [f"DTSTART;TZID={SEOUL}:20260302T200000", "DTSTART:20260302T110000Z"])
@pytest.mark.parametrize("series", [EVENING, DAILY])
def test_a_later_stamp_calls_off_the_event_that_begins_then(head: str, begin: str, series: str) -> None:
    event = f"UID:a|{series}"
    cancellation = f"UID:a|{begin}|STATUS:CANCELLED"
    for order in (1, -1):
        content = stamped(*[(event, "20260201"), (cancellation, "20260220")][::order], head=head)
        assert hours(events(content)) == []
        assert read(content).faults == (replaced("Class"),)
        assert read(content).doubts == ()


def test_an_event_that_is_newer_than_its_cancellation_takes_place() -> None:
    off = "UID:a|DTSTART:20260302T110000Z|STATUS:CANCELLED"
    for order in (1, -1):
        content = stamped(*[(f"UID:a|{EVENING}", "20260220"), (off, "20260201")][::order])
        assert hours(events(content)) == ["03-02 11:00-14:00"]


def test_where_all_events_were_written_at_once_the_later_modified_one_counts() -> None:
    event = f"UID:a|{EVENING}|LAST-MODIFIED:20260101T000000Z"
    off = "UID:a|DTSTART:20260302T110000Z|STATUS:CANCELLED|LAST-MODIFIED:20260102T000000Z"
    assert hours(events(stamped((event, "20260301"), (off, "20260301")))) == []


def test_one_uid_for_all_in_a_published_file_calls_off_one_alone() -> None:
    # The stamps are of the making of the file, which took some days here.
    classes = [
        ("UID:a|DTSTART:20260302T110000Z|DURATION:PT1H", "20260201"),
        ("UID:a|DTSTART:20260303T110000Z|DURATION:PT1H|STATUS:CANCELLED", "20260202"),
        ("UID:a|DTSTART:20260304T110000Z|DURATION:PT1H", "20260203"),
    ]
    for order in (1, -1):
        content = stamped(*classes[::order])
        assert hours(events(content)) == ["03-02 11:00-12:00", "03-04 11:00-12:00"]
        assert sorted(map(str, read(content).doubts)) == [
            '"Class": it has the UID of another event, and both count',
            '"Class": it has the UID of another event, and only this one is cancelled',
        ]


def test_of_messages_about_one_event_the_later_stamp_is_the_newer() -> None:
    first = ("UID:a|DTSTART:20260302T110000Z|DURATION:PT1H", "20260201")
    moved = ("UID:a|DTSTART:20260303T110000Z|DURATION:PT1H", "20260202")
    for order in (1, -1):
        content = stamped(*[first, moved][::order], head="METHOD:REQUEST\n")
        assert hours(events(content)) == ["03-03 11:00-12:00"]
        assert read(content).faults == (replaced("Class"),)


def test_a_series_that_is_called_off_takes_its_moved_dates_with_it() -> None:
    moved = f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260303T200000|DTSTART:20260303T010000Z|DURATION:PT1H"
    off = f"UID:a|{DAILY}|STATUS:CANCELLED"
    assert hours(events(stamped((off, "20260202"), (moved, "20260201")))) == []
    assert hours(events(stamped((off, "20260202"), (moved, "20260203")))) == ["03-03 01:00-02:00"]


def stamped(*written: tuple[str, str], head: str = "") -> bytes:
    """A calendar of events, each with the day on which it was stamped."""
    made = "".join(
        f"BEGIN:VEVENT|SUMMARY:Class|DTSTAMP:{day}T000000Z|{event}|END:VEVENT|" for event, day in written
    )
    return f"BEGIN:VCALENDAR|VERSION:2.0|{head.strip()}|{made}END:VCALENDAR|".replace("|", "\r\n").encode()


# --- this and future -----------------------------------------------------------------------------


@pytest.mark.parametrize("day", [1, 9, 14])
def test_dates_that_are_all_moved_are_found_where_they_have_gone(day: int) -> None:
    # Sundays from the 15th on become the Monday before, or the Saturday after, or stay.
    content = calendar(
        "UID:a|DTSTART:20260301T100000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY",
        f"UID:a|RECURRENCE-ID;RANGE=THISANDFUTURE:20260315T100000Z|DTSTART:202603{day + 8:02}T100000Z|DURATION:PT1H",
    )
    whole = [each for each in events(content) if "2026-10-01" <= str(each.date) < "2026-10-15"]
    days = [f"2026-10-{day:02}" for day in range(1, 16)]
    found = [each for begin, end in itertools.pairwise(days) for each in events(content, "UTC", begin, end)]
    assert {each.opening for each in whole} == {each.opening for each in found}
    assert whole


def test_this_and_all_before_is_not_read() -> None:
    found = read(
        calendar(
            f"UID:a|{DAILY}",
            f"UID:a|RECURRENCE-ID;RANGE=THISANDPRIOR;TZID={SEOUL}:20260303T200000"
            f"|DTSTART;TZID={SEOUL}:20260303T100000|DURATION:PT1H",
        )
    )
    assert found.faults == (fault("Class 1", "calendar.event.this-and-prior"),)


# --- the text ------------------------------------------------------------------------------------


def test_line_ends_folds_and_blanks_are_read_as_they_are_met() -> None:
    plain = calendar(EVENING)
    title = "수업".encode()
    folded = plain.replace(b"Class 0", title[:2] + b"\r\n " + title[2:])
    for content in (
        plain.replace(b"\r\n", b"\r"),
        plain.replace(b"\r\n", b"\n"),
        plain.replace(b"\r\n", b"\r\r\n"),
        plain.replace(b"\r\n", b"\r\n\r\n"),
        plain.replace(b"VEVENT", b"VEVENT "),
        b"\xef\xbb\xbf" + plain.lower().replace(b"asia/seoul", b"Asia/Seoul").replace(b"t2", b"T2"),
        folded,
        b"\n\xef\xbb\xbf \n" + plain + b"\x1a",
    ):
        assert hours(events(content)) == ["03-02 11:00-14:00"]
    assert events(folded)[0].title == '"수업"'


def test_several_calendars_half_a_calendar_and_other_counts_of_days_are_refused() -> None:
    assert refused(calendar(EVENING) + calendar(EVENING)) == "it holds several calendars, export one"
    assert refused(calendar(EVENING)[:-20]) == "it is cut off before END:VCALENDAR, export it again"
    assert refused(calendar(EVENING, head="CALSCALE:HEBREW\n")) == (
        "its days are those of the calendar HEBREW, export it with GREGORIAN"
    )


def test_a_calendar_that_cannot_be_worked_out_is_named_by_its_window(tmp_path: Path) -> None:
    many = calendar(*["DTSTART:20260101T000000Z|DURATION:PT1H|RRULE:FREQ=DAILY"] * 100)
    (tmp_path / "course.ics").write_bytes(many)
    found = load(lab(tmp_path, LAB))
    with pytest.raises(
        BadInput,
        match="the calendar of window course cannot be used: it has more than 20000 events in this time",
    ):
        simulated(found, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")


# --- due dates and exceptions --------------------------------------------------------------------


def test_due_dates_are_left_out_with_one_line_for_all() -> None:
    found = read(
        calendar(
            f"DTSTART;TZID={SEOUL}:20260302T235900|DTEND;TZID={SEOUL}:20260302T235900",
            EVENING,
            "DTSTART:20260303T145900Z|DTEND:20260303T145900Z",
            "DTSTART:20260304T145900Z",
        )
    )
    assert (found.events, found.faults) == (
        1,
        (reason("calendar.events.no-time", events=3, first='"Class 0"'),),
    )


def test_a_calendar_of_due_dates_alone_opens_nothing() -> None:
    assert events(calendar("DTSTART:20260303T145900Z|DTEND:20260303T145900Z")) == []


@pytest.mark.parametrize(("exceptions", "unmatched"), [
    (f"EXDATE;TZID={SEOUL}:20260303T200000", ""),
    ("EXDATE:20260303T110000Z", ""),
    ("EXDATE;VALUE=DATE:20260303", ""),
    (f"EXDATE;TZID={SEOUL}:20260303T190000", "2026-03-03 19:00"),
    ("EXDATE:20260303T200000Z", "2026-03-04 05:00"),
    ("EXDATE;VALUE=DATE:20260304,20260310", "2026-03-04"),
])  # fmt: skip
def test_exceptions_that_no_date_of_the_series_has_are_noted(exceptions: str, unmatched: str) -> None:
    series = calendar(f"{EVENING}|RRULE:FREQ=WEEKLY;BYDAY=MO,TU|{exceptions}")
    expected = [reason("calendar.event.exceptions", event='"Class 0"', times=unmatched)] if unmatched else []
    assert CourseCalendar(read(series).text).unmatched_exceptions(SEOUL) == expected
