"""The zones of a course calendar: its own definitions, its own zone, and times that have none."""

from datetime import datetime
from pathlib import Path

import pytest

from lamplighter.adapters.calendars.course import CourseCalendar, courses
from lamplighter.adapters.calendars.text import read
from lamplighter.domain.planner.simulation import simulate
from lamplighter.labfile.file import load
from lamplighter.reasons.reason import reason
from tests.unit.calendar.courses.event_reasons import unknown_zone
from tests.unit.calendar.courses.test_calendar import AUTUMN, CUSTOM, SEOUL, calendar, events, hours, refused

EVENING = f"DTSTART;TZID={SEOUL}:20260302T200000|DTEND;TZID={SEOUL}:20260302T230000"
CAMPUS = "DTSTART;TZID=Campus:20260302T200000|DURATION:PT1H"
NEW_YORK = CUSTOM.format(rule=AUTUMN)
TOKYO = """\
BEGIN:VTIMEZONE
TZID:Campus
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0900
TZOFFSETTO:+0900
END:STANDARD
END:VTIMEZONE
"""


def own(zone: str) -> str:
    return f"X-WR-TIMEZONE:{zone}\n"


# --- definitions ---------------------------------------------------------------------------------


def test_two_calendars_of_one_lab_may_call_different_zones_the_same(tmp_path: Path) -> None:
    (tmp_path / "west.ics").write_bytes(calendar(CAMPUS, head=NEW_YORK))
    (tmp_path / "east.ics").write_bytes(calendar(CAMPUS, head=TOKYO))
    (tmp_path / "none.ics").write_bytes(calendar(CAMPUS))
    windows = "".join(
        f"- {{name: {name}, calendar: {name}.ics, nodes: 1}}\n" for name in ("west", "east", "none")
    )
    (tmp_path / "lab.yaml").write_text(f"name: x\nguard: {{longest_lease: 8h}}\nwindows:\n{windows}")
    found = load(tmp_path / "lab.yaml")
    begins, ends = (datetime.fromisoformat(f"2026-03-0{day}T00:00:00Z") for day in (1, 6))
    for _ in range(2):
        played = simulate(found, begins, ends, courses(found, {}))
        assert [(each.window, f"{each.begins - begins.timestamp():g}") for each in played.windows] == [
            ("east", f"{35 * 3600}"),
            ("west", f"{49 * 3600}"),
        ]


def test_a_calendar_keeps_its_zones_while_others_are_read() -> None:
    west, east = (CourseCalendar(read(calendar(CAMPUS, head=head)).text) for head in (NEW_YORK, TOKYO))
    assert read(calendar(CAMPUS)).faults == (unknown_zone("Class 0", "Campus"),)
    begins, ends = (int(datetime.fromisoformat(f"2026-03-0{day}T00:00:00Z").timestamp()) for day in (1, 6))
    assert hours(list(west.events(SEOUL, begins, ends))) == ["03-03 01:00-02:00"]
    assert hours(list(east.events(SEOUL, begins, ends))) == ["03-02 11:00-12:00"]


def test_a_definition_may_stand_behind_the_events_that_name_it() -> None:
    content = calendar(CAMPUS)
    end = content.index(b"END:VCALENDAR")
    assert hours(events(content[:end] + NEW_YORK.encode() + content[end:])) == ["03-03 01:00-02:00"]


def test_a_zone_defined_twice_is_known_where_both_mean_the_same() -> None:
    renamed = NEW_YORK.replace("BEGIN:STANDARD", "BEGIN:STANDARD\nTZNAME:EST")
    assert hours(events(calendar(CAMPUS, head=NEW_YORK + renamed))) == ["03-03 01:00-02:00"]
    found = read(calendar(CAMPUS, EVENING, head=NEW_YORK + TOKYO))
    assert found.faults == (unknown_zone("Class 0", "Campus", "twice"),)
    assert found.events == 1


@pytest.mark.parametrize("definition", [
    "BEGIN:VTIMEZONE\nTZID:Campus\nEND:VTIMEZONE\n",
    NEW_YORK.replace("TZOFFSETFROM:-0400\n", ""),
    NEW_YORK.replace("-0400", "soon"),
])  # fmt: skip
def test_a_definition_that_cannot_be_read_takes_its_own_events_only(definition: str) -> None:
    found = read(calendar(CAMPUS, EVENING, head=definition))
    assert found.faults == (unknown_zone("Class 0", "Campus", "unreadable"),)
    assert found.events == 1


def test_zones_of_the_list_are_those_of_the_list_whatever_a_calendar_says() -> None:
    # Apple defines Istanbul by BYYEARDAY with BYDAY (kewisch/ical.js #730).
    odd = NEW_YORK.replace("Campus", SEOUL).replace(AUTUMN, "FREQ=YEARLY;BYYEARDAY=90,91;BYDAY=SU")
    assert hours(events(calendar(EVENING, head=odd))) == ["03-02 11:00-14:00"]


@pytest.mark.parametrize("zone", ["America", "Europe/", "localtime", "../etc/localtime", "Nowhere"])
def test_a_folder_or_file_of_the_machine_is_no_zone(zone: str) -> None:
    found = read(calendar(f'DTSTART;TZID="{zone}":20260302T200000|DURATION:PT1H', EVENING))
    assert found.faults == (unknown_zone("Class 0", zone),)
    assert found.events == 1


@pytest.mark.parametrize("time", ["BYHOUR=2;BYMINUTE=0", "BYHOUR=2;BYMINUTE=0;BYSECOND=0"])
def test_lotus_notes_says_the_hour_of_a_clock_change_in_its_rule(time: str) -> None:
    rule = f"FREQ=YEARLY;{time};BYDAY=1SU;BYMONTH=11"
    found = events(
        calendar(f"{CAMPUS}|RDATE;TZID=Campus:20261031T200000,20261101T200000", head=CUSTOM.format(rule=rule))
    )
    assert hours(found) == ["03-03 01:00-02:00", "11-01 00:00-01:00", "11-02 01:00-02:00"]


def test_a_rule_of_a_zone_that_is_not_read_is_named() -> None:
    rule = "FREQ=YEARLY;BYHOUR=1,2;BYDAY=1SU;BYMONTH=11"
    assert refused(calendar(CAMPUS, head=CUSTOM.format(rule=rule))) == (
        f"it defines a time zone whose clocks change by a rule that is not read (Campus: {rule}), export it again"
    )


def test_a_zone_of_a_vendor_is_read_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    found = events(calendar(EVENING.replace(SEOUL, "/school.example/2026_1/Asia/Seoul")))
    assert hours(found) == ["03-02 11:00-14:00"]
    assert [str(each.message) for each in recwarn] == []


# --- times without a zone ------------------------------------------------------------------------


@pytest.mark.parametrize(("head", "expected"), [
    ("", "03-02 11:00-12:00"),
    (own("Europe/Berlin"), "03-02 19:00-20:00"),
    (own("W. Europe Standard Time"), "03-02 19:00-20:00"),
    (own("Campus") + NEW_YORK, "03-03 01:00-02:00"),
    (own("Nowhere"), "03-02 11:00-12:00"),
])  # fmt: skip
def test_a_time_without_a_zone_is_in_the_calendars_own_or_else_in_the_windows(
    head: str, expected: str
) -> None:
    assert hours(events(calendar("DTSTART:20260302T200000|DURATION:PT1H", head=head))) == [expected]


def test_a_calendar_whose_own_zone_nobody_knows_says_so() -> None:
    found = read(calendar(EVENING, head=own("Nowhere")))
    assert found.doubts == (reason("calendar.zone.own-unknown", property="X-WR-TIMEZONE", zone="Nowhere"),)


def test_a_series_in_utc_recurs_in_the_calendars_own_zone() -> None:
    weekly = "DTSTART:20260324T190000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=2"
    assert hours(events(calendar(weekly, head=own("Europe/Berlin")))) == [
        "03-24 19:00-20:00",
        "03-31 18:00-19:00",
    ]
    assert hours(events(calendar(weekly))) == ["03-24 19:00-20:00", "03-31 19:00-20:00"]


def test_a_series_in_utc_that_calls_off_a_date_as_it_is_in_utc_recurs_in_utc() -> None:
    # New York's clocks go forward on 8 March: in its own zone the series would be at 18:00 UTC from then on.
    weekly = "UID:a|DTSTART:20260303T190000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=3"
    left_out = calendar(f"{weekly}|EXDATE:20260310T190000Z", head=own("America/New_York"))
    moved = calendar(
        weekly,
        "UID:a|RECURRENCE-ID:20260310T190000Z|DTSTART:20260310T210000Z|DURATION:PT1H",
        head=own("America/New_York"),
    )

    assert hours(events(left_out)) == ["03-03 19:00-20:00", "03-17 19:00-20:00"]
    assert hours(events(moved)) == ["03-03 19:00-20:00", "03-10 21:00-22:00", "03-17 19:00-20:00"]


def test_a_series_in_utc_whose_days_are_those_of_utc_recurs_in_utc() -> None:
    # Monday evening in New York is Tuesday in UTC, and the rule says Tuesday.
    weekly = "DTSTART:20260303T010000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=2;BYDAY={}"
    head = own("America/New_York")
    assert hours(events(calendar(weekly.format("TU"), head=head))) == [
        "03-03 01:00-02:00",
        "03-10 01:00-02:00",
    ]
    assert hours(events(calendar(weekly.format("MO"), head=head))) == [
        "03-03 01:00-02:00",
        "03-10 00:00-01:00",
    ]


@pytest.mark.parametrize(("more", "expected"), [
    ("EXDATE:20260303T080000Z", ["03-02 11:00-12:00", "03-03 11:00-12:00", "03-04 11:00-12:00"]),
    ("EXDATE:20260303T110000Z", ["03-02 11:00-12:00", "03-04 11:00-12:00"]),
    ("EXDATE:20260303T200000", ["03-02 11:00-12:00", "03-04 11:00-12:00"]),
    ("EXDATE;VALUE=DATE:20260303", ["03-02 11:00-12:00", "03-04 11:00-12:00"]),
    ("RDATE:20260306T110000Z", [*(f"03-0{day} 11:00-12:00" for day in (2, 3, 4, 6))]),
    ("DTEND:20260302T120000Z", [*(f"03-0{day} 11:00-12:00" for day in (2, 3, 4))]),
])  # fmt: skip
def test_a_series_without_a_zone_stays_in_the_windows_whatever_else_has_one(
    more: str, expected: list[str]
) -> None:
    ends = "" if "DTEND" in more else "|DURATION:PT1H"
    found = events(calendar(f"DTSTART:20260302T200000{ends}|RRULE:FREQ=DAILY;COUNT=3|{more}"))
    assert hours(found) == expected


def test_the_last_date_of_a_series_without_a_zone_may_be_said_in_utc() -> None:
    series = "DTSTART:20260302T200000|DURATION:PT1H|RRULE:FREQ=WEEKLY;UNTIL=20260309T110000Z"
    assert hours(events(calendar(series))) == ["03-02 11:00-12:00", "03-09 11:00-12:00"]


def test_a_replaced_date_may_be_named_in_utc_by_its_day_or_without_a_zone() -> None:
    series = "UID:a|DTSTART{}:20260302T200000|DURATION:PT1H|RRULE:FREQ=DAILY;COUNT=3"
    moved = f"UID:a|RECURRENCE-ID{{}}|DTSTART;TZID={SEOUL}:20260303T100000|DURATION:PT1H"
    for zone in ("", f";TZID={SEOUL}"):
        for named in (":20260303T110000Z", ";VALUE=DATE:20260303", ":20260303T200000"):
            found = events(calendar(series.format(zone), moved.format(named)))
            assert hours(found) == ["03-02 11:00-12:00", "03-03 01:00-02:00", "03-04 11:00-12:00"]


def test_a_time_in_utc_is_in_utc_whatever_zone_stands_beside_it() -> None:
    assert hours(events(calendar(f"DTSTART;TZID={SEOUL}:20260302T110000Z|DURATION:PT1H"))) == [
        "03-02 11:00-12:00"
    ]
