"""Labs whose windows follow a calendar file beside them: what is read, what is refused, what is simulated."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.calendars.course import courses
from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import Problem, load, read
from tests.unit.calendar.courses.test_calendar import SEOUL, calendar
from tests.unit.calendar.named_windows import unnamed

COURSE = calendar(
    f"DTSTART;TZID={SEOUL}:20260302T200000|DTEND;TZID={SEOUL}:20260302T230000|RRULE:FREQ=WEEKLY;COUNT=3",
    f"DTSTART;TZID={SEOUL}:20260302T100000|DTEND;TZID={SEOUL}:20260302T120000",
)
SECRETS = "arn:aws:secretsmanager:eu-west-1:123456789012:secret"
LAB = "name: x\nguard: {longest_lease: 8h}\nwindows:\n- {name: course, calendar: course.ics, nodes: 1}\n"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    (tmp_path / "course.ics").write_bytes(COURSE)
    return tmp_path


def lab(folder: Path, text: str = LAB) -> Path:
    path = folder / "lab.yaml"
    path.write_text(text)
    return path


def problems(folder: Path, text: str) -> list[str]:
    found = read(lab(folder, text))
    return (
        [] if isinstance(found, Lab) else [f"{each.line}: {each.key}: {unnamed(each.text)}" for each in found]
    )


def simulated(found: Lab, start: str, end: str) -> Any:
    begins, ends = datetime.fromisoformat(start), datetime.fromisoformat(end)
    return simulate(found, begins, ends, courses(found, {})).to_json()


def test_each_event_of_the_file_is_a_window(beside: Path) -> None:
    document = simulated(load(lab(beside)), "2026-03-01T00:00:00Z", "2026-03-10T00:00:00Z")
    assert [(each["date"], each["opens"], each["closes"], each["nodes"]) for each in document["windows"]] == [
        ("2026-03-02", "2026-03-02T01:00:00Z", "2026-03-02T03:00:00Z", 1),
        ("2026-03-02", "2026-03-02T11:00:00Z", "2026-03-02T14:00:00Z", 1),
        ("2026-03-09", "2026-03-09T11:00:00Z", "2026-03-09T14:00:00Z", 1),
    ]


def test_the_windows_own_bounds_and_exceptions_hold_for_events_too(beside: Path) -> None:
    text = LAB.replace("nodes: 1", "from: 2026-03-03, except: 2026-03-09") + "except: 2026-03-16\n"
    document = simulated(load(lab(beside, text)), "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z")
    assert document["windows"] == []
    assert [(each["date"], each["code"], each["reason"]) for each in document["skipped"]] == [
        ("2026-03-09", "excepted", "2026-03-09 is among the exceptions of window course"),
        ("2026-03-16", "excepted", "2026-03-16 is among the lab's exceptions"),
    ]


def test_the_normalised_lab_carries_the_calendar_and_reads_as_itself(beside: Path) -> None:
    found = load(lab(beside))
    assert Lab.from_json(found.to_json()) == found
    (beside / "course.ics").unlink()
    assert simulated(Lab.from_json(found.to_json()), "2026-03-01T00:00:00Z", "2026-03-05T00:00:00Z")[
        "windows"
    ]


def test_a_calendar_says_all_of_when(beside: Path) -> None:
    text = LAB.replace("nodes: 1", "days: mon, start: 10:00")
    assert problems(beside, text) == [
        "4: windows.0.days: is given beside calendar, keep one of the two",
        "4: windows.0.start: is given beside calendar, keep one of the two",
    ]


def test_a_file_that_is_missing_or_no_calendar_is_a_problem_at_its_line(beside: Path) -> None:
    assert problems(beside, LAB.replace("course.ics", "other.ics")) == [
        (
            "4: windows.0.calendar: names other.ics, which cannot be used: "
            "it is not beside the lab, put it there or name another"
        )
    ]
    (beside / "course.ics").write_text("hello")
    assert problems(beside, LAB) == [
        (
            "4: windows.0.calendar: names course.ics, which cannot be used: "
            "it is not an iCalendar file (RFC 5545), export it as .ics"
        )
    ]


@pytest.mark.parametrize(
    "named", ["/etc/passwd.ics", "../course.ics", "a/../../course.ics", "http://x.example/a.ics", "course.txt",
              "https://user:pw@x.example/a.ics", "file:///etc/a.ics"]
)  # fmt: skip
def test_only_files_beside_the_lab_and_https_addresses_are_calendars(beside: Path, named: str) -> None:
    (problem,) = problems(beside, LAB.replace("course.ics", f'"{named}"'))
    assert problem.endswith("write a file beside the lab such as course.ics, or an https:// address")


def test_an_address_is_not_read_where_the_lab_is(beside: Path) -> None:
    found = read(lab(beside, LAB.replace("course.ics", "https://school.example/course.ics?key=1")))
    assert not isinstance(found, list), [str(each) for each in found if isinstance(each, Problem)]
    assert found.windows[0].online
    assert courses(found, {}) == {}


def test_a_webcal_address_is_refused_with_the_address_to_write(tmp_path: Path) -> None:
    text = LAB.replace("course.ics", '"webcal://example.edu/c.ics"')
    said = 'is "webcal://example.edu/c.ics", write https:// in place of webcal://: most calendars answer there too'
    assert problems(tmp_path, text) == [f"4: windows.0.calendar: {said}"]


@pytest.mark.parametrize(("calendar", "secret", "problem"), [
    ("course.ics", f"{SECRETS}:a", "is for a calendar at an https address, leave it out"),
    ("https://school.example/a.ics", f"{SECRETS}:*",
     f'is "{SECRETS}:*", write the ARN of a secret in Secrets Manager'),
])  # fmt: skip
def test_a_secret_is_one_secret_of_an_address(beside: Path, calendar: str, secret: str, problem: str) -> None:
    window = f"{{name: course, calendar: '{calendar}', calendar_secret: '{secret}'}}"
    assert problems(beside, f"name: x\nwindows:\n- {window}\n") == [
        f"3: windows.0.calendar_secret: {problem}"
    ]
