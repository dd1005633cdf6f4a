"""Course calendars as strangers write them: which events become windows, and which instants they mean."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from types import SimpleNamespace

import icalendar
import pytest
import recurring_ical_events
from dateutil import rrule

from lamplighter.adapters.calendars.course import CourseCalendar
from lamplighter.adapters.calendars.text import LARGEST, MOST_EVENTS, read
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.errors import BadInput
from lamplighter.values import zones
from tests.drawn import english
from tests.steady.call_count import counted
from tests.unit.calendar.courses.event_reasons import fault, unknown_zone

#: For a calendar of twelve series that began in 1990. The slowest of them takes 400,000.
MOST_CALLS = 1_000_000
SEOUL = "Asia/Seoul"
CUSTOM = """\
BEGIN:VTIMEZONE
TZID:Campus
BEGIN:STANDARD
DTSTART:20251101T020000
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
RRULE:{rule}
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20250309T020000
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU
END:DAYLIGHT
END:VTIMEZONE
"""
AUTUMN = "FREQ=YEARLY;BYMONTH=11;BYDAY=1SU"


def calendar(*events: str, head: str = "") -> bytes:
    """An iCalendar file of events, each its lines joined by a bar."""
    made = "".join(
        f"BEGIN:VEVENT\nDTSTAMP:20260101T000000Z\nSUMMARY:Class {number}\n"
        + ("" if "UID:" in event else f"UID:{number}@school\n")
        + event.replace("|", "\n")
        + "\nEND:VEVENT\n"
        for number, event in enumerate(events)
    )
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:school\n{head}{made}END:VCALENDAR\n".encode().replace(
        b"\n", b"\r\n"
    )


def events(
    content: bytes, zone: str = SEOUL, start: str = "2026-01-01", end: str = "2027-01-01"
) -> list[CourseEvent]:
    begins, ends = (int(datetime.fromisoformat(f"{day}T00:00:00Z").timestamp()) for day in (start, end))
    return list(CourseCalendar(read(content).text).events(zone, begins, ends))


def hours(found: list[CourseEvent]) -> list[str]:
    return [
        f"{zones.instant(each.opening):%m-%d %H:%M}-{zones.instant(each.closing):%H:%M}" for each in found
    ]


def refused(content: bytes) -> str:
    with pytest.raises(BadInput) as caught:
        read(content)
    return str(caught.value)


# --- which instants ------------------------------------------------------------------------------


def test_a_series_with_an_exception_and_a_moved_date() -> None:
    found = events(
        calendar(
            f"UID:a|DTSTART;TZID={SEOUL}:20260302T200000|DTEND;TZID={SEOUL}:20260302T230000"
            f"|RRULE:FREQ=WEEKLY;COUNT=4|EXDATE;TZID={SEOUL}:20260309T200000",
            f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260316T200000|DTSTART;TZID={SEOUL}:20260317T180000"
            f"|DTEND;TZID={SEOUL}:20260317T210000",
        )
    )
    assert hours(found) == ["03-02 11:00-14:00", "03-17 09:00-12:00", "03-23 11:00-14:00"]
    assert [each.date for each in found] == [date(2026, 3, 2), date(2026, 3, 17), date(2026, 3, 23)]


def test_times_without_a_zone_are_in_the_windows_and_dates_always_are() -> None:
    content = calendar("DTSTART:20260302T010000|DURATION:PT2H", "DTSTART:20260302T200000Z|DURATION:PT2H")
    found = events(content)
    assert hours(found) == ["03-01 16:00-18:00", "03-02 20:00-22:00"]
    assert [str(each.date) for each in found] == ["2026-03-02", "2026-03-03"]
    assert hours(events(content, "UTC")) == ["03-02 01:00-03:00", "03-02 20:00-22:00"]


def test_zones_by_windows_own_names_and_by_definition() -> None:
    found = events(
        calendar(
            "DTSTART;TZID=Korea Standard Time:20260302T200000|DURATION:PT1H",
            "DTSTART;TZID=Campus:20260307T200000|DURATION:PT1H|RRULE:FREQ=DAILY;COUNT=2",
            head=CUSTOM.format(rule=AUTUMN),
        )
    )
    assert hours(found) == ["03-02 11:00-12:00", "03-08 01:00-02:00", "03-09 00:00-01:00"]


def test_clock_changes_mean_what_they_mean_for_every_window() -> None:
    new_york = "America/New_York"
    content = calendar(
        f"DTSTART;TZID={new_york}:20260307T023000|DTEND;TZID={new_york}:20260307T043000|RRULE:FREQ=DAILY;COUNT=3",
        f"DTSTART;TZID={new_york}:20261101T003000|DTEND;TZID={new_york}:20261101T013000",
    )
    found = events(content, new_york)
    # What falls into the gap moves to its end; an hour that comes twice is not lengthened silently.
    assert hours(found) == [
        "03-07 07:30-09:30",
        "03-08 07:00-08:30",
        "03-09 06:30-08:30",
        "11-01 04:30-05:30",
    ]
    assert english(found[1].notes[0]).startswith("it lasts 1h30m instead of 2h")
    assert [each.notes for each in (found[0], found[2], found[3])] == [(), (), ()]


def test_an_event_keeps_its_name_when_it_is_moved_and_two_of_a_day_differ() -> None:
    before = events(
        calendar("DTSTART:20260302T100000|DURATION:PT1H", "DTSTART:20260302T140000|DURATION:PT1H")
    )
    after = events(calendar("DTSTART:20260302T110000|DURATION:PT3H", "DTSTART:20260302T160000|DURATION:PT1H"))
    assert [each.id for each in before] == [each.id for each in after]
    assert len({each.id for each in before}) == 2


def test_an_end_written_as_a_date_is_all_of_that_day() -> None:
    found = events(
        calendar(f"DTSTART;TZID={SEOUL}:20260302T200000|DURATION:PT1H|RRULE:FREQ=WEEKLY;UNTIL=20260316")
    )
    assert [str(each.date) for each in found] == ["2026-03-02", "2026-03-09", "2026-03-16"]


def test_what_the_calendar_calls_off_does_not_open() -> None:
    found = events(
        calendar(
            f"UID:a|DTSTART;TZID={SEOUL}:20260302T200000|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=3",
            f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260309T200000|DTSTART;TZID={SEOUL}:20260309T200000"
            "|DURATION:PT1H|STATUS:CANCELLED",
            "DTSTART:20260302T100000|DURATION:PT1H|STATUS:CANCELLED",
        )
    )
    assert [str(each.date) for each in found] == ["2026-03-02", "2026-03-16"]


# --- what strangers write ------------------------------------------------------------------------


def test_an_event_that_can_be_no_window_is_left_out_and_said() -> None:
    found = read(
        calendar(
            "DTSTART;VALUE=DATE:20260302",
            "DTSTART;TZID=Nowhere/Land:20260302T200000|DURATION:PT1H",
            "DTSTART:garbage|DURATION:PT1H",
            "DTSTART:20260302T200000Z|DURATION:PT1H|RRULE:FREQ=SECONDLY",
            "DTSTART:20260302T200000Z|DURATION:PT1H|RRULE:FREQ=DAILY;BYHOUR=1,2,3",
            "DTSTART:20260302T200000Z|DURATION:PT1H|RRULE:FREQ=DAILY;COUNT=99999",
            "DTSTART:09990302T200000Z|DURATION:PT1H",
            "DURATION:PT1H",
            "DTSTART:20260302T200000Z|DURATION:PT1H",
        )
    )
    assert found.events == 1
    assert list(found.faults) == [
        fault("Class 0", "calendar.event.all-day"),
        unknown_zone("Class 1", "Nowhere/Land"),
        fault("Class 2", "calendar.event.unreadable"),
        fault("Class 3", "calendar.rule.frequency", frequency="SECONDLY"),
        fault("Class 4", "calendar.rule.part", frequency="DAILY", part="BYHOUR"),
        fault("Class 5", "calendar.rule.too-often", most=5000),
        fault("Class 6", "calendar.event.year", year=999, first=1990, last=2200),
        fault("Class 7", "calendar.event.unreadable"),
    ]


def test_a_date_of_a_series_that_becomes_all_day_does_not_open_as_it_was() -> None:
    content = calendar(
        f"UID:a|DTSTART;TZID={SEOUL}:20260302T200000|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=2",
        f"UID:a|RECURRENCE-ID;TZID={SEOUL}:20260309T200000|DTSTART;VALUE=DATE:20260309",
    )
    assert [str(each.date) for each in events(content)] == ["2026-03-02"]


def test_people_places_and_descriptions_are_not_kept() -> None:
    text = read(
        calendar(
            "UID:alice@school.example|DTSTART:20260302T200000Z|DURATION:PT1H|DESCRIPTION:secret room"
            "|ATTENDEE:mailto:bob@school.example|LOCATION:B 12|BEGIN:VALARM|ACTION:DISPLAY|TRIGGER:-PT5M|END:VALARM"
        )
    ).text
    assert not [word for word in ("alice", "bob", "secret", "B 12", "VALARM") if word in text]


def test_what_is_no_calendar_is_refused_in_one_line() -> None:
    assert refused(b"<p>log in</p>") == "it is not an iCalendar file (RFC 5545), export it as .ics"


@pytest.mark.parametrize(
    "page", [b"<html>log in</html>", b"\n <!DOCTYPE html>\n<html><body>log in</body></html>"]
)
def test_a_web_page_is_named_as_one(page: bytes) -> None:
    text = "it is a web page, perhaps one that asks for a login; export the calendar as .ics, or name its own address"
    assert refused(page) == text


def test_what_is_no_text_is_refused_in_one_line() -> None:
    assert refused(b"\xff\xfe") == "it is not UTF-8 at byte 0, export it as UTF-8"
    assert refused(b"x" * (LARGEST + 1)).startswith("it is larger than 1024 KiB")
    assert refused(b"BEGIN:VEVENT\n" * (MOST_EVENTS + 1)).startswith("it has more than 2000 events")
    assert "\n" not in refused(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n")


def test_a_zone_that_would_cost_hours_to_work_out_is_refused() -> None:
    content = calendar(
        "DTSTART;TZID=Campus:20260302T200000|DURATION:PT1H", head=CUSTOM.format(rule="FREQ=SECONDLY")
    )
    assert refused(content).startswith("it defines a time zone whose clocks")
    folded = content.replace(b"FREQ=SECONDLY", b"FREQ=SEC\r\n ONDLY")
    assert refused(folded).startswith("it defines a time zone whose clocks")


@pytest.mark.parametrize(
    "rule", ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=YEARLY", "FREQ=YEARLY;BYHOUR=2", "x"]
)
def test_a_zone_whose_clocks_may_never_change_again_is_refused(rule: str) -> None:
    content = calendar("DTSTART;TZID=Campus:20260302T200000|DURATION:PT1H", head=CUSTOM.format(rule=rule))
    assert refused(content).startswith("it defines a time zone whose clocks")


def test_a_zone_may_say_the_second_sunday_the_long_way() -> None:
    rule = "FREQ=YEARLY;BYMONTH=11;BYDAY=SU;BYMONTHDAY=1,2,3,4,5,6,7"
    content = calendar("DTSTART;TZID=Campus:20261102T200000|DURATION:PT1H", head=CUSTOM.format(rule=rule))
    assert hours(events(content)) == ["11-03 01:00-02:00"]


@pytest.mark.once_flaky("a library kept what an earlier test had called by the name")
def test_a_zone_is_its_own_calendar_s_whatever_another_calls_by_that_name() -> None:
    second_sunday = AUTUMN.replace("1SU", "2SU")
    for rule, expected in ((second_sunday, "11-03 00:00-01:00"), (AUTUMN, "11-03 01:00-02:00")) * 2:
        content = calendar("DTSTART;TZID=Campus:20261102T200000|DURATION:PT1H", head=CUSTOM.format(rule=rule))
        assert hours(events(content)) == [expected]


def test_of_a_zone_only_its_clocks_are_kept() -> None:
    hidden = "BEGIN:VEVENT\nDESCRIPTION:secret\nEND:VEVENT\nX-NOTE:secret\nEND:VTIMEZONE\n"
    head = CUSTOM.format(rule=AUTUMN).replace("END:VTIMEZONE\n", hidden)
    nameless = CUSTOM.format(rule=AUTUMN).replace("TZID:Campus\n", "")
    text = read(calendar("DTSTART;TZID=Campus:20261102T200000|DURATION:PT1H", head=head + nameless)).text
    assert "secret" not in text
    assert text.count("BEGIN:VTIMEZONE") == 1


@pytest.mark.parametrize("rule", [
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;INTERVAL=2",
    "FREQ=MONTHLY;BYMONTHDAY=31;INTERVAL=12",
    "FREQ=MONTHLY;BYMONTH=4;INTERVAL=2",
    "FREQ=DAILY;BYDAY=TU;INTERVAL=7",
    "FREQ=MONTHLY;BYDAY=6MO",
    "FREQ=MONTHLY;BYDAY=1MO;BYSETPOS=3",
    "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
    "FREQ=DAILY;INTERVAL=0",
    "FREQ=YEARLY;BYMONTH=13",
])  # fmt: skip
def test_a_series_of_which_no_next_date_is_certain_is_not_looked_for(rule: str) -> None:
    found = read(calendar(f"DTSTART:20260302T000000Z|DURATION:PT1H|RRULE:{rule}"))
    assert (found.events, len(found.faults)) == (0, 1)


@pytest.mark.parametrize("rule", [
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=400",
    "FREQ=DAILY;BYDAY=MO;BYMONTH=2",
    "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,WE;WKST=SU",
    "FREQ=MONTHLY;BYDAY=5MO;INTERVAL=12",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
    "FREQ=MONTHLY;BYMONTHDAY=31",
    "FREQ=MONTHLY;BYMONTHDAY=-31",
    "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=1,3",
    "FREQ=YEARLY;INTERVAL=7;BYMONTH=12;BYMONTHDAY=31",
    "FREQ=YEARLY;BYDAY=-5SU;BYMONTH=2",
    "FREQ=YEARLY;BYDAY=5TU",
])  # fmt: skip
def test_all_that_is_read_is_worked_out_at_once(rule: str) -> None:
    ends = "", ";COUNT=9", ";UNTIL=20200101T000000Z"
    content = calendar(*[f"DTSTART:19900101T000000Z|DURATION:PT1H|RRULE:{rule}{end}" for end in ends * 4])

    def worked_out() -> object:
        events(content, start="2026-11-01", end="2026-11-03")
        return read(content).faults

    calls, faults = counted(worked_out)
    assert faults == ()
    assert calls < MOST_CALLS


def test_too_many_openings_are_refused() -> None:
    content = calendar(*["DTSTART:20260101T000000Z|DURATION:PT1H|RRULE:FREQ=DAILY"] * 100)
    with pytest.raises(BadInput, match="more than 20000 events in this time"):
        events(content)


def test_openings_that_last_for_years_count_though_they_began_long_ago() -> None:
    content = calendar(*["DTSTART:19900101T000000Z|DTEND:20271231T010000Z|RRULE:FREQ=DAILY"] * 2)
    with pytest.raises(BadInput, match="more than 20000 events in this time"):
        events(content, start="2026-11-01", end="2026-11-03")


@pytest.mark.parametrize("rule", [
    "FREQ=DAILY",
    "FREQ=DAILY;INTERVAL=3",
    "FREQ=WEEKLY",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;WKST=SU",
    "FREQ=WEEKLY;BYDAY=TU",
    "FREQ=DAILY;UNTIL=20261105T235959Z",
    "FREQ=DAILY;UNTIL=19951105T235959Z",
    "FREQ=WEEKLY;COUNT=5000",
    "FREQ=MONTHLY;BYDAY=2MO",
    "FREQ=DAILY;BYMONTH=11",
])  # fmt: skip
@pytest.mark.parametrize("lasts", ["DTEND:19900101T110000Z", "DURATION:PT30H"])
def test_a_series_is_read_from_where_somebody_looks_as_from_its_begin(rule: str, lasts: str) -> None:
    event = f"DTSTART:19900101T100000Z|{lasts}|RRULE:{rule}|EXDATE:20261103T100000Z"
    course = CourseCalendar(read(calendar(event)).text)
    begins, ends = (int(datetime.fromisoformat(f"2026-11-0{day}T00:00:00Z").timestamp()) for day in (2, 9))
    seen = [(each.opening, each.closing) for each in course.events(SEOUL, begins, ends)]

    plain = recurring_ical_events.of(icalendar.Calendar.from_ical(calendar(event))).between(
        zones.instant(begins), zones.instant(ends)
    )
    meant = [(int(e["DTSTART"].dt.timestamp()), int(e["DTEND"].dt.timestamp())) for e in plain]
    assert seen == sorted(meant)
    # Looking further back afterwards finds what was there.
    assert len(course.events(SEOUL, begins - 10 * 86400, ends)) >= len(seen)


def test_many_series_since_long_ago_cost_what_somebody_looks_at(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    plain = rrule.rrule._iter  # type: ignore[attr-defined]

    def counted(self: object) -> Iterator[object]:
        nonlocal made
        for each in plain(self):
            made += 1
            yield each

    monkeypatch.setattr(rrule.rrule, "_iter", counted)
    content = calendar(*["DTSTART:19900101T100000Z|DURATION:PT1H|RRULE:FREQ=DAILY"] * 14)
    assert len(events(content, start="2026-11-01", end="2026-11-03")) == 14 * 2
    assert made < 14 * 100


def test_a_calendar_is_parsed_once_however_often_it_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0
    plain = icalendar.Calendar.from_ical

    def counted(text: str) -> object:
        nonlocal parsed
        parsed += 1
        return plain(text)

    monkeypatch.setattr(icalendar.Calendar, "from_ical", counted)
    text = read(calendar("DTSTART:20261101T100000Z|DURATION:PT1H|RRULE:FREQ=DAILY|SUMMARY:Parsed once")).text
    begins = int(datetime(2026, 11, 3, tzinfo=UTC).timestamp())
    for days in (1, 5, 9):
        course = CourseCalendar(text)
        assert len(course.events(SEOUL, begins, begins + days * 86_400)) == days
        assert len(course.events("Europe/Berlin", begins, begins + days * 86_400)) == days
    # Once as it was written, and once as it is kept.
    assert parsed == 2


def test_a_calendar_is_worked_out_once_a_day_however_often_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    plain = recurring_ical_events.of

    def counted(given: icalendar.Component) -> object:
        nonlocal looks
        looks += 1
        return plain(given)

    monkeypatch.setattr(recurring_ical_events, "of", counted)
    content = calendar("DTSTART:20261101T100000Z|DURATION:PT1H|RRULE:FREQ=DAILY|SUMMARY:Looked at")
    eleven = int(datetime(2026, 11, 3, 11, tzinfo=UTC).timestamp())

    found = []
    for later in (0, 1, 5000):
        course = CourseCalendar(read(content).text)
        found.append([event.date.day for event in course.events("Etc/UTC", eleven + later, eleven + 86_400)])

    # The event that ends at eleven meets the first look, and no later one.
    assert found == [[3, 4], [4], [4]]
    assert looks == 1


def test_an_event_is_called_the_same_whichever_of_its_date_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two events of one date in the window's zone, on two days of UTC, whose digests begin alike."""
    content = calendar("DTSTART:20261122T200000Z|DURATION:PT1H", "DTSTART:20261123T020000Z|DURATION:PT2H")
    digests = {"first": "aaaabbbb", "second": "aaaacccc"}
    plain = hashlib.sha256

    def alike(text: bytes) -> object:
        found = plain(text)
        digests.setdefault(found.hexdigest(), f"aaaa{found.hexdigest()}")
        return SimpleNamespace(hexdigest=lambda: digests[found.hexdigest()])

    monkeypatch.setattr("lamplighter.adapters.calendars.course.hashlib", SimpleNamespace(sha256=alike))
    course = CourseCalendar(read(content).text)
    evening, night = (int(datetime(2026, 11, day, 12, tzinfo=UTC).timestamp()) for day in (22, 23))

    early = {event.opening: event.id for event in course.events("Asia/Seoul", evening, evening + 36 * 3600)}
    late = {event.opening: event.id for event in course.events("Asia/Seoul", night - 11 * 3600, night)}

    assert len(early) == len(set(early.values())) == 2
    assert late.items() <= early.items()
    assert late


def test_many_series_that_began_long_ago_are_refused() -> None:
    content = calendar(*["DTSTART:19900101T000000Z|DURATION:PT1H|RRULE:FREQ=DAILY;BYMONTH=1"] * 20)
    with pytest.raises(BadInput, match="too many series that began long ago"):
        events(content, start="2026-11-01", end="2026-11-03")


def test_what_is_kept_reads_as_itself() -> None:
    content = calendar("DTSTART:20260302T200000|DURATION:PT1H|RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3")
    again = read(content).text.encode()
    assert (
        hours(events(again))
        == hours(events(content))
        == ["03-02 11:00-12:00", "03-04 11:00-12:00", "03-09 11:00-12:00"]
    )


def test_at_either_end_of_time_there_are_no_events() -> None:
    weekly = calendar("DTSTART:20260901T200000|DTEND:20260901T220000|RRULE:FREQ=WEEKLY")
    last = int(datetime.fromisoformat("9999-12-31T23:59:59Z").timestamp())
    first = int(datetime.fromisoformat("0001-01-01T00:00:00Z").timestamp())

    course = CourseCalendar(read(weekly).text)

    assert list(course.events(SEOUL, last, last + 86_400)) == []
    assert list(course.events(SEOUL, first - 86_400, first)) == []
