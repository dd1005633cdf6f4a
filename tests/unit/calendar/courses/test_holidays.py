"""Exceptions as ranges and as calendars of holidays: which dates they are, and what is refused."""

from datetime import date
from pathlib import Path

import pytest

from lamplighter.adapters.calendars.holidays import read
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.labfile.courses import faults
from lamplighter.labfile.file import load
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.calendar.courses.test_files import lab, problems, simulated

LAB = (
    "name: x\nguard: {longest_lease: 8h}\nwindows:\n"
    '- {name: daily, days: daily, start: "20:00", end: "21:00", except: EXCEPT}\n'
)
OF_EXCHANGE = (
    "DTSTART;TZID=Asia/Seoul:20260501T000000|DTEND;TZID=Asia/Seoul:20260502T000000"
    "|X-MICROSOFT-CDO-ALLDAYEVENT:TRUE|RRULE:FREQ=WEEKLY;UNTIL=20260514T150000Z"
)
SOLLAL = "DTSTART;VALUE=DATE:20260216|DTEND;VALUE=DATE:20260219|SUMMARY:설날"


def opened(folder: Path, exceptions: str, start: str, end: str) -> list[str]:
    """The days of the month on which the window opens in a stretch of 2026."""
    text = LAB.replace("EXCEPT", exceptions)
    document = simulated(load(lab(folder, text)), f"2026-{start}T00:00:00Z", f"2026-{end}T00:00:00Z")
    return [each["date"][-2:] for each in document["windows"]]


def days(*events: str) -> list[str]:
    return [day.isoformat() for day in read(calendar(*events)).days if day.year < 2028]


def refusal(content: bytes) -> str:
    with pytest.raises(BadInput) as refused:
        read(content)
    return str(refused.value)


def test_a_range_has_both_its_ends(tmp_path: Path) -> None:
    exceptions = "[2026-07-02, {from: 2026-07-20, to: 2026-07-29}]"
    assert opened(tmp_path, exceptions, "07-01", "08-01") == [
        *("01", *(f"{day:02}" for day in range(3, 20))),
        *("30", "31"),
    ]


def test_the_whole_days_of_a_file_are_exceptions_of_every_window_or_of_one(tmp_path: Path) -> None:
    (tmp_path / "holidays.ics").write_bytes(calendar(SOLLAL))
    wanted = ["14", "15", "19", "20"]
    assert opened(tmp_path, "holidays.ics", "02-14", "02-21") == wanted
    of_all = LAB.replace(", except: EXCEPT", "") + "except: holidays.ics\n"
    found = load(lab(tmp_path, of_all))
    assert found.exceptions_of(found.windows[0]) == {date(2026, 2, day) for day in (16, 17, 18)}


def test_a_lab_carries_its_holidays_and_its_ranges(tmp_path: Path) -> None:
    (tmp_path / "holidays.ics").write_bytes(calendar(SOLLAL))
    found = load(lab(tmp_path, LAB.replace("EXCEPT", "[holidays.ics, {from: 2026-07-20, to: 2026-07-21}]")))
    (tmp_path / "holidays.ics").unlink()
    again = Lab.from_json(found.to_json())
    assert again == found
    assert again.exceptions_of(again.windows[0]) == {
        *(date(2026, 2, day) for day in (16, 17, 18)),
        *(date(2026, 7, day) for day in (20, 21)),
    }


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ("DTSTART;VALUE=DATE:20260505", ["2026-05-05"]),
        ("DTSTART;VALUE=DATE:20260505|DURATION:P2D", ["2026-05-05", "2026-05-06"]),
        ("DTSTART;VALUE=DATE:20260505|DTEND;VALUE=DATE:20260505", ["2026-05-05"]),
        ("DTSTART;VALUE=DATE:19700704|RRULE:FREQ=YEARLY", [f"20{year}-07-04" for year in range(20, 28)]),
        (
            "DTSTART;VALUE=DATE:20261126|RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
            ["2026-11-26", "2027-11-25"],
        ),
        (
            "DTSTART;VALUE=DATE:20260501|RRULE:FREQ=WEEKLY;COUNT=3|EXDATE;VALUE=DATE:20260508",
            ["2026-05-01", "2026-05-15"],
        ),
        (
            "DTSTART:20260505T000000|DTEND:20260507T000000|X-MICROSOFT-CDO-ALLDAYEVENT:TRUE",
            ["2026-05-05", "2026-05-06"],
        ),
        (f"{OF_EXCHANGE}|EXDATE:20260507T150000Z", ["2026-05-01", "2026-05-15"]),
        ("DTSTART;VALUE=DATE:20260505|STATUS:TENTATIVE", ["2026-05-05"]),
    ],
)
def test_which_dates_an_event_names(event: str, wanted: list[str]) -> None:
    assert days(event) == wanted


def test_a_cancelled_holiday_is_none_and_a_cancelled_date_leaves_its_series() -> None:
    series = "UID:a|DTSTART;VALUE=DATE:20260501|RRULE:FREQ=WEEKLY;COUNT=2"
    gone = "UID:a|RECURRENCE-ID;VALUE=DATE:20260508|DTSTART;VALUE=DATE:20260508|STATUS:CANCELLED"
    off = "UID:b|DTSTART;VALUE=DATE:20260601|STATUS:CANCELLED"
    assert days(series, gone, off) == ["2026-05-01"]


def test_a_date_that_has_got_times_leaves_its_series() -> None:
    series = "UID:a|DTSTART;VALUE=DATE:20260501|RRULE:FREQ=WEEKLY;COUNT=2"
    timed = "UID:a|RECURRENCE-ID;VALUE=DATE:20260508|DTSTART:20260508T100000Z|DTEND:20260508T110000Z"
    assert days(series, timed) == ["2026-05-01"]


def test_events_with_times_are_told_and_a_file_of_them_alone_is_refused(tmp_path: Path) -> None:
    timed = "DTSTART:20260505T100000Z|DTEND:20260505T110000Z"
    (tmp_path / "holidays.ics").write_bytes(calendar(SOLLAL, timed))
    found = load(lab(tmp_path, LAB.replace("EXCEPT", "holidays.ics")))
    assert [(name, str(fault)) for name, fault in faults(found, tmp_path)] == [
        ("holidays.ics", "1 event has a time, so it is no exception; only whole days are")
    ]
    assert "has no event that lasts all day" in refusal(calendar(timed))


def test_too_many_days_and_rules_that_are_not_read_are_refused_quickly() -> None:
    assert "more than 4000 whole days" in refusal(calendar("DTSTART;VALUE=DATE:20260101|RRULE:FREQ=DAILY"))
    assert "more than 4000 whole days" in refusal(
        calendar("DTSTART;VALUE=DATE:20260101|DTEND;VALUE=DATE:99991231")
    )
    rule = refusal(calendar("DTSTART;VALUE=DATE:20260228|RRULE:FREQ=YEARLY;BYMONTHDAY=30;BYMONTH=2"))
    assert rule.startswith('its event "Class 0" recurs by a rule that is not read')


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "2026-13-01",
            'is "2026-13-01", which no calendar has; write a date that exists',
        ),
        (
            "soon",
            'is "soon", write a date as YYYY-MM-DD, a range such as {from: 2026-07-20, to: 2026-08-10} or a file',
        ),
        ("{from: 2026-07-20}", "write a range with from and to: {from: 2026-07-20, to: 2026-08-10}"),
        ("{from: 2026-07-20, to: 2026-07-19}", "has to 2026-07-19 before from 2026-07-20"),
        ("{from: 2026-07-20, to: 2029-07-20}", "has more than 1000 days, end the window with until"),
        ("{from: 2026-07-20, to: soon}", 'has a to that is "soon", write a date as YYYY-MM-DD'),
        ("../holidays.ics", 'is "../holidays.ics", write a file beside the lab such as holidays.ics'),
        ("holidays.ics", "names holidays.ics, which cannot be used: it is not beside the lab"),
    ],
)
def test_an_exception_that_cannot_be_used_is_a_problem_of_its_item(
    tmp_path: Path, written: str, problem: str
) -> None:
    (found,) = problems(tmp_path, LAB.replace("EXCEPT", f"[2026-01-01, {written}]"))
    assert found.startswith("4: windows.0.except.1: ")
    assert problem in found


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("second tue", ["02-10", "03-10"]),
        ("last fri", ["02-27", "03-27"]),
        ("[first mon, fourth fri]", ["02-02", "02-27", "03-02", "03-27"]),
        ("[last sun, sat]", ["02-07", "02-14", "02-21", "02-22", "02-28", "03-07", "03-14", "03-21", "03-28", "03-29"]),
    ],
)  # fmt: skip
def test_a_window_names_the_weekdays_of_a_month(tmp_path: Path, written: str, wanted: list[str]) -> None:
    text = LAB.replace(", except: EXCEPT", "").replace("days: daily", f"days: {written}")
    document = simulated(load(lab(tmp_path, text)), "2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert [each["date"][5:] for each in document["windows"]] == wanted


def test_files_that_together_have_more_days_than_the_ledger_keeps_of_a_lab_are_refused(
    tmp_path: Path,
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.ics").write_bytes(
            calendar("DTSTART;VALUE=DATE:20200101|RRULE:FREQ=WEEKLY;UNTIL=20600101")
        )
    assert problems(tmp_path, LAB.replace("EXCEPT", "[a.ics]")) == []
    [refused] = problems(tmp_path, LAB.replace("EXCEPT", "[a.ics, b.ics]"))
    assert "more than 4000 whole days together" in refused


def test_a_place_that_no_month_has_each_time_is_refused(tmp_path: Path) -> None:
    (found,) = problems(
        tmp_path, LAB.replace(", except: EXCEPT", "").replace("days: daily", "days: fifth fri")
    )
    assert found.endswith("the nearest is first fri")
