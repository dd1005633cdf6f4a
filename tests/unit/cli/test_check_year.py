"""`check` says how often windows open in the next year, and which are refused for money or for nodes."""

from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest

from cli.plan.check_year import lines
from lamplighter.labfile.file import load
from tests.unit.calendar.courses.test_calendar import calendar

NOW = datetime(2026, 11, 20, 20, 17, tzinfo=UTC)


def said(folder: Path, text: str) -> list[str]:
    (folder / "lab.yaml").write_text(f"name: x\ntime_zone: UTC\n{text}")
    path = str(folder / "lab.yaml")
    return list(lines(load(path), path, NOW))


def test_a_lab_without_windows_has_no_year_ahead(tmp_path: Path) -> None:
    assert said(tmp_path, "") == []


def test_a_calendar_with_room_and_money_is_told_in_one_line(tmp_path: Path) -> None:
    text = "windows:\n- {name: a, days: mon, start: 20:00, end: 21:00}\n"
    assert said(tmp_path, text) == ["  the year from 2026-11-20: 52 openings, none of them refused"]


def test_what_is_refused_for_money_is_said_by_month_with_the_first_reason(tmp_path: Path) -> None:
    text = (
        "guard: {budget: {amount: 10}}\npools: {gpu: {price_per_hour: 1}}\n"
        "windows:\n- {name: a, dates: [2026-12-01, 2026-12-02, 2026-12-03, 2026-12-09], start: 20:00, end: 22:00}\n"
    )
    assert said(tmp_path, text) == [
        "  the year from 2026-11-20: 4 openings, 2 of them refused",
        ("note: window a will not open in 2026-12 on 3 and 9: it would cost 4.0000 USD, "
        "more than is left of the 10.0000 USD for the month (2026-12): 2.0000 USD is left"),
    ]  # fmt: skip


def test_what_is_refused_for_room_is_said_too(tmp_path: Path) -> None:
    text = "windows:\n" + "".join(
        f"- {{name: {name}, dates: 2026-12-01, start: 20:00, end: 22:00}}\n" for name in "ab"
    )
    assert said(tmp_path, text)[1:] == [
        (
            "note: window b will not open on 2026-12-01: pool gpu is full at 20:00 on 2026-12-01 (UTC): the a lease "
            "(2) and the 2 asked for would be 4 of 2 nodes"
        )
    ]


def test_events_that_can_be_no_window_and_calendars_without_any_are_noted(tmp_path: Path) -> None:
    (tmp_path / "course.ics").write_bytes(
        calendar("DTSTART;VALUE=DATE:20261201", "DTSTART:20260101T100000Z|DURATION:PT1H")
    )
    assert said(tmp_path, "windows:\n- {name: a, calendar: course.ics}\n") == [
        "  the year from 2026-11-20: 0 openings, none of them refused",
        'note: course.ics: "Class 0": it lasts all day, and only events with times open a pool',
        "note: window a opens on no date of this year: its calendar names none",
    ]


def test_what_is_left_to_aws_cannot_be_judged(tmp_path: Path) -> None:
    text = (
        "cluster: {existing: c}\npools: {gpu: {existing: g}}\n"
        "windows:\n- {name: a, days: mon, start: 20:00, end: 21:00}\n"
    )
    assert said(tmp_path, text) == [
        "note: which windows will be refused is not known: max_nodes or price_per_hour is left to AWS, write both"
    ]


def test_an_address_that_cannot_be_read_is_a_note_and_no_problem(tmp_path: Path) -> None:
    text = "windows:\n- {name: a, calendar: 'https://127.0.0.1/a.ics'}\n"
    assert said(tmp_path, text) == [
        "  the year from 2026-11-20: 0 openings, none of them refused",
        ("note: the calendar of window a: 127.0.0.1 gives no usable calendar: 127.0.0.1 is 127.0.0.1, "
        "and only public addresses are read; its events are left out here"),
    ]  # fmt: skip


def test_a_secret_that_this_machine_may_not_read_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    # boto3's own session remembers the credentials of a test before.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    arn = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:course-AbCdEf"
    text = f"windows:\n- {{name: a, calendar: 'https://127.0.0.1/a.ics', calendar_secret: '{arn}'}}\n"
    assert said(tmp_path, text)[1:] == [
        ("note: the calendar of window a: the address was not read, because its secret was not: no AWS credentials "
        "were found for secretsmanager:GetSecretValue (Unable to locate credentials): log in, or name a profile with "
        "AWS_PROFILE; a deployed lab tries hourly; its events are left out here"),
    ]  # fmt: skip


def test_days_in_a_row_are_one_range(tmp_path: Path) -> None:
    text = (
        "guard: {budget: {amount: 10}}\npools: {gpu: {price_per_hour: 1}}\n"
        "windows:\n- {name: a, days: daily, start: 20:00, end: 22:00, from: 2026-12-01, until: 2026-12-31}\n"
    )
    assert "will not open in 2026-12 on 3 to 31: it would cost" in said(tmp_path, text)[1]


def test_exceptions_without_an_event_and_windows_of_a_minute_are_noted(tmp_path: Path) -> None:
    (tmp_path / "course.ics").write_bytes(
        calendar(
            "DTSTART:20261201T100000Z|DURATION:PT1H|RRULE:FREQ=WEEKLY;COUNT=3|EXDATE:20261208T090000Z",
            "DTSTART:20261203T235900Z|DURATION:PT1M|RRULE:FREQ=DAILY;COUNT=2",
        )
    )
    assert said(tmp_path, "windows:\n- {name: a, calendar: course.ics, except: [2026-12-02, 2026-12-15]}\n")[1:] == [
        ('note: course.ics: "Class 0": it leaves out 2026-12-08 09:00, but none of its dates is then, so nothing is'
         " left out"),
        ("note: window a lasts only 1m on 2026-12-03, and is as short on 1 more date: a node needs some minutes until"
         " its GPUs are ready"),
        "note: the exception 2026-12-02 of window a is on no day on which its calendar has an event",
    ]  # fmt: skip
