"""A calendar at an address, hour after hour: read, kept, changed, lost, and what is said of it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.calendars import series as course_series
from lamplighter.application.planner.courses import follow_courses
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.calendar.course import Course
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

ADDRESS = "https://school.example/course.ics?key=secret"
FIRST = "DTSTART:20261121T190000|DURATION:PT2H"
MOVED = "DTSTART:20261121T200000|DURATION:PT2H"
SECOND = "DTSTART:20261124T190000|DURATION:PT2H"


class School:
    """What the address answers, and how often it was asked."""

    def __init__(self) -> None:
        self.answer: bytes | Exception = calendar(FIRST)
        self.asked: list[str] = []
        self.secrets: list[str | None] = []

    def __call__(self, address: str, secret: str | None) -> bytes:
        self.asked.append(address)
        self.secrets.append(secret)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Hours:
    """The planner, woken hour after hour."""

    def __init__(self, world: LabOnMoto) -> None:
        self.ledger = world.capacity.ledger
        self.school = School()
        self.lab = Lab.model_validate(
            {"name": "lab", "time_zone": "UTC", "windows": [{"name": "course", "calendar": ADDRESS}]}
        )
        self.now = EIGHT
        sns, sqs = boto3.client("sns"), boto3.client("sqs")
        topic = sns.create_topic(Name="notices")["TopicArn"]
        self._queue = sqs.create_queue(QueueName="said")["QueueUrl"]
        name = sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"]
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=name["QueueArn"],
            Attributes={"RawMessageDelivery": "true"},
        )
        self._notices, self._sqs = Notices(topic), sqs

    def plan(self, *, after: timedelta = timedelta(hours=1)) -> list[str]:
        """Wake the planner; the days on which the course opens."""
        self.now += after
        courses = follow_courses(self.lab, self.ledger, self._notices, self.now, self.school)
        course: Course | None = (courses or {}).get("course")
        if course is None:
            return []
        begins, ends = (int(at.timestamp()) for at in (self.now, self.now + timedelta(days=30)))
        return [
            f"{datetime.fromtimestamp(each.opening, UTC):%d. %H:%M}"
            for each in course.events("UTC", begins, ends)
        ]

    def said(self) -> list[str]:
        """What people were told since they were asked last."""
        found = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get("Messages", [])
        for each in found:
            self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=each["ReceiptHandle"])
        return [each["Body"] for each in found]


def test_a_calendar_that_cannot_be_worked_out_any_more_takes_no_other_window_with_it(
    hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hours.plan() == ["21. 19:00"]
    hours.said()
    monkeypatch.setattr(course_series, "MOST_STEPS", -1)

    # What was worked out today is kept.
    assert hours.plan(after=timedelta(minutes=10)) == ["21. 19:00"]
    assert hours.plan(after=timedelta(hours=24)) == []
    assert hours.plan(after=timedelta(minutes=10)) == []

    [said] = [each for each in hours.said() if each.endswith("the window opens nothing until it can.")]
    assert said.startswith(
        "The calendar of window course cannot be used: it has too many series that began long ago"
    )


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hours]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield Hours(made)


def test_it_is_read_once_an_hour_however_often_the_planner_wakes(hours: Hours) -> None:
    assert hours.plan() == ["21. 19:00"]
    assert hours.plan(after=timedelta(minutes=5)) == ["21. 19:00"]
    assert hours.school.asked == [ADDRESS]
    assert hours.plan() == ["21. 19:00"]
    assert len(hours.school.asked) == 2
    assert hours.said() == ["Window course follows its calendar: 1 event in the next 60 days."]


def test_an_address_is_read_with_the_secret_of_its_window(hours: Hours) -> None:
    hours.plan()
    secret = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:course-AbCdEf"
    hours.lab.windows[0] = hours.lab.windows[0].model_copy(update={"calendar_secret": secret})
    hours.plan()
    assert hours.school.secrets == [None, secret]


def test_what_changes_is_said_once(hours: Hours) -> None:
    hours.plan()
    hours.said()
    hours.school.answer = calendar(MOVED, SECOND)

    assert hours.plan() == ["21. 20:00", "24. 19:00"]
    assert hours.plan() == ["21. 20:00", "24. 19:00"]

    (said,) = hours.said()
    assert said == (
        'The calendar of window course has changed: "Class 1" at 19:00 on 2026-11-24 (UTC) is new; '
        '"Class 0" at 19:00 on 2026-11-21 (UTC) is now at 20:00 on 2026-11-21 (UTC).'
    )
    audit = hours.ledger.audit("gpu", EIGHT)
    assert [entry.kind for entry in audit] == ["course-calendar", "course-calendar"]


@pytest.mark.parametrize(("answer", "why"), [
    (OutsideFailed("school.example answers 503"), "school.example answers 503"),
    (b"log in",
     "school.example gives no usable calendar: it is not an iCalendar file (RFC 5545), export it as .ics"),
    (b"x" * 2_000_000,
     "school.example gives no usable calendar: it is larger than 1024 KiB, export a smaller calendar"),
])  # fmt: skip
def test_while_it_cannot_be_read_the_last_good_copy_holds_and_that_is_said_once(
    hours: Hours, answer: bytes | Exception, why: str
) -> None:
    hours.plan()
    hours.said()
    hours.school.answer = answer

    assert hours.plan() == ["21. 19:00"]
    assert hours.plan() == ["21. 19:00"]

    assert hours.said() == [
        (
            f"The calendar of window course cannot be read: {why}; "
            "the plan keeps its events as they were at 21:00 on 2026-11-20 (UTC)."
        )
    ]
    hours.school.answer = calendar(FIRST)
    hours.plan()
    assert hours.said() == ["The calendar of window course can be read again; its events have not changed."]


def test_what_was_never_read_opens_nothing_and_that_is_said(hours: Hours) -> None:
    hours.school.answer = OutsideFailed("school.example has no address")
    assert hours.plan() == []
    assert hours.said() == [
        "The calendar of window course cannot be read, so the window opens nothing: school.example has no address."
    ]


def test_another_address_is_read_at_once_and_the_old_copy_is_not_taken_for_it(hours: Hours) -> None:
    hours.plan()
    hours.lab = Lab.model_validate(
        {"name": "lab", "windows": [{"name": "course", "calendar": "https://other.example/a.ics"}]}
    )
    hours.school.answer = OutsideFailed("other.example answers 404")

    assert hours.plan(after=timedelta(minutes=1)) == []


def test_events_that_can_be_no_window_are_said_with_the_rest(hours: Hours) -> None:
    hours.school.answer = calendar(FIRST, "DTSTART;VALUE=DATE:20261122")
    hours.plan()
    (said,) = hours.said()
    assert said == (
        "Window course follows its calendar: 1 event in the next 60 days; "
        'events that are left out: "Class 1": it lasts all day, and only events with times open a pool.'
    )


def test_what_a_calendar_contradicts_itself_in_is_said_with_the_rest(hours: Hours) -> None:
    hours.school.answer = calendar(f"UID:a|{FIRST}", "UID:a|DTSTART:20261122T100000Z|DURATION:PT1H")
    hours.plan()
    (said,) = hours.said()
    assert said == (
        "Window course follows its calendar: 2 events in the next 60 days; "
        '"Class 1": it has the UID of another event, and both count.'
    )


def test_neither_the_ledger_nor_a_notice_holds_the_secret_of_an_address(hours: Hours) -> None:
    hours.plan()
    items = boto3.client("dynamodb").scan(TableName="lab-ledger")["Items"]
    assert items
    assert "secret" not in repr(items) + "".join(hours.said())


def test_a_window_that_follows_no_calendar_any_more_leaves_no_copy(hours: Hours) -> None:
    hours.plan()
    hours.lab = Lab.model_validate(
        {"name": "lab", "windows": [{"name": "other", "calendar": "https://other.example/a.ics"}]}
    )
    hours.plan()
    assert list(hours.ledger.course_copies()) == ["other"]


def test_the_planner_makes_leases_of_events_moves_them_and_shortens_none_unannounced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with lab_on_moto(monkeypatch, tmp_path) as world:
        school = School()
        school.answer = calendar(
            "DTSTART:20261120T203000|DURATION:PT3H", "DTSTART:20261121T100000|DURATION:PT1H"
        )
        document = {"name": "lab", "time_zone": "UTC", "windows": [{"name": "course", "calendar": ADDRESS}]}
        world.capacity.lab = Lab.model_validate(document)
        notices = Notices(boto3.client("sns").create_topic(Name="notices")["TopicArn"])
        office = PlannerServices(
            world.guard_services.lease_services,
            world.guard_services.workflows,
            notices,
            extend_lease=world.close_lab,
            fetch=school,
        )
        ledger = world.capacity.ledger

        plan_all(office)
        first, second = ledger.leases("gpu")
        assert [f"{each.opens:%d. %H:%M}" for each in (first, second)] == ["20. 20:30", "21. 10:00"]
        names = {
            each["Name"] for each in boto3.client("scheduler").list_schedules(GroupName="lab")["Schedules"]
        }
        assert {f"open-{first.id}", f"close-{first.id}", f"open-{second.id}"} <= names

        world.at(30)
        run = {"command": open_command(first).to_json(), "results": {}}
        assert STEPS["Admit"](run, office.lease_services)["outcome"] == "granted"
        school.answer = calendar(
            "DTSTART:20261120T203000|DURATION:PT2H", "DTSTART:20261121T120000|DURATION:PT1H"
        )
        world.at(61)
        done = plan_all(office)

        # The running lease is as it was: a command moves its end, announced and with notice. The other has moved.
        running, moved = ledger.leases("gpu")
        assert (running.state, running.closes) == (LeaseState.ADMITTED, first.closes)
        started: Any = done["started"]
        assert [name for name in started if name.startswith(f"follow-{first.id}-")]
        assert (moved.id, f"{moved.opens:%d. %H:%M}") == (second.id, "21. 12:00")

        # An address that is lost takes nothing away.
        school.answer = OutsideFailed("school.example answers 500")
        world.at(130)
        plan_all(office)
        assert [lease.id for lease in ledger.leases("gpu")] == [first.id, second.id]
