"""`windows` and `simulate --live` show when GPUs are expected, and the plan as an iCalendar."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import icalendar
import pytest

from cli import deployment
from lamplighter.adapters.aws.notices import Notices
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.doctor.readiness import Grade, Readiness, ReadinessFinding
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.calendar.courses.test_calendar import calendar
from tests.unit.lab_on_moto import LabOnMoto, lab_on_moto

CLASS = {"name": "class", "nodes": 2, "dates": "2026-11-21", "start": "10:00", "end": "12:00", "ready": "by"}
PLAIN = {"name": "plain", "nodes": 1, "dates": "2026-11-21", "start": "14:00", "end": "15:00"}
COURSE = {"name": "course", "nodes": 1, "calendar": "course.ics"}
EVENTS = {
    "course.ics": calendar(
        "DTSTART:20261121T160000Z|DURATION:PT1H", "DTSTART:20261205T160000Z|DURATION:PT1H"
    ).decode()
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        # The endpoint uses the machine's clock; the lab's clock stands still at eight.
        monkeypatch.setattr(deployment.AwsClock, "last", lambda _: EIGHT)
        yield made


def deploy(world: LabOnMoto, *windows: dict[str, Any], **more: Any) -> None:
    """A deployed and planned lab with its stack."""
    document = {"name": "lab", "time_zone": "UTC", "windows": list(windows), "calendars": EVENTS, **more}
    world.capacity.lab = Lab.model_validate(document)
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    plan_all(
        PlannerServices(
            world.guard_services.lease_services,
            world.guard_services.workflows,
            Notices(topic),
            extend_lease=world.close_lab,
        )
    )
    outputs = {"LedgerTable": {"Value": "lab-ledger"}}
    body = {"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs}
    boto3.client("cloudformation").create_stack(
        StackName="lab-controller",
        TemplateBody=json.dumps(body),
        Tags=[{"Key": "lamplighter:lab", "Value": "lab"}],
    )


def skip_of(window: str, date: str) -> tuple[Skip, tuple[str, str], str, Decision, Entry]:
    """A skip as the leases function stores it."""
    reason = f"alice skipped {window}"
    decision = Decision("c-1", "skipped", reason, EIGHT)
    why = Entry(EIGHT, "gpu", "skipped", "alice", reason, reason)
    return Skip(window, date, "alice", EIGHT, None), ("gpu", f"{window}-{date}"), "gpu", decision, why


def told(*arguments: str) -> str:
    done = lamplighter(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_windows_say_when_gpus_are_expected_as_their_pool_was_measured(world: LabOnMoto) -> None:
    for number, minutes in enumerate([12.1, 12.8, 11.0, 12.0]):
        receipt = {"lease": f"x-{number}", "minutes_to_ready": minutes}
        world.capacity.ledger.put_receipt("gpu", EIGHT - timedelta(days=number + 1), f"x-{number}", receipt)
    deploy(world, CLASS, PLAIN, COURSE)

    rows = json.loads(told("windows", "--json"))
    assert [(row["window"], row["opens"][11:16], row["gpus_expected"][11:16]) for row in rows] == [
        ("class", "09:47", "10:00"),
        ("plain", "14:00", "14:13"),
        ("course", "16:00", "16:13"),
    ]
    assert "Sat 21 Nov 09:47 UTC  Sat 21 Nov 10:00 UTC  Sat 21 Nov 12:00 UTC" in told("windows")


def test_windows_show_the_last_check_with_its_time_and_zone(world: LabOnMoto) -> None:
    deploy(world, CLASS, PLAIN, guard={"look_again": "2h"})
    ledger = world.capacity.ledger
    opens = {lease.id: lease.opens for lease in ledger.leases("gpu")}
    said = reason("doctor.readiness.add-ons", names=("kube-system/coredns",))
    finding = ReadinessFinding("add-ons", Grade.IN_DOUBT, said, reason("doctor.readiness.add-ons.advice"))
    lease = "class-2026-11-21"
    ledger.keep_readiness(
        Readiness(lease, "gpu", "class", "2026-11-21", opens[lease], EIGHT, (finding,), ("quota",))
    )

    assert "in doubt, checked 20:00 on 2026-11-20 (UTC): no pod is available of kube-system/coredns" in told(
        "windows"
    )
    checked, unchecked = json.loads(told("windows", "--json"))
    assert unchecked["readiness"] is None
    assert checked["readiness"] == {
        "grade": "in-doubt",
        "at": "2026-11-20T20:00:00Z",
        "findings": [
            {
                "check": "add-ons",
                "grade": "in-doubt",
                "said": "no pod is available of kube-system/coredns",
                "advice": "`kubectl get pods -A` shows why; repair or upgrade the chart or add-on",
            }
        ],
        "not_known": ["quota"],
    }


def test_nodes_that_one_window_hands_to_the_next_are_expected_at_once(world: LabOnMoto) -> None:
    deploy(world, {**PLAIN, "name": "before", "start": "13:00", "end": "14:00"}, PLAIN)
    rows = json.loads(told("windows", "--json"))
    assert [row["gpus_expected"][11:16] for row in rows] == ["13:10", "14:00"]


def test_the_plan_as_icalendar_goes_eight_weeks_ahead_and_leaves_out_what_was_skipped(
    world: LabOnMoto, tmp_path: Path
) -> None:
    deploy(world, CLASS, PLAIN, COURSE)
    world.capacity.ledger.skip(*skip_of("plain", "2026-11-21"))

    assert told("windows", "--ics", str(tmp_path / "plan.ics")) == ""

    events: list[Any] = icalendar.Calendar.from_ical((tmp_path / "plan.ics").read_bytes()).walk("VEVENT")
    assert [(str(each["SUMMARY"]), f"{each['DTSTART'].dt:%m-%d %H:%M}") for each in events] == [
        ("class: 2 nodes of gpu", "11-21 10:00"),
        ("course: 1 node of gpu", "11-21 16:00"),
        ("course: 1 node of gpu", "12-05 16:00"),
    ]


def test_simulate_live_plays_course_calendars_and_early_openings(world: LabOnMoto) -> None:
    deploy(world, CLASS, COURSE)
    document = json.loads(told("simulate", "--live", "--json", "-"))
    assert [(one["window"], one["opens"], one["notes"]) for one in document["windows"]] == [
        (
            "class",
            "2026-11-21T09:50:00Z",
            ["it opens 10m early, so that its GPUs are ready by 10:00 on 2026-11-21 (UTC)"],
        ),
        ("course", "2026-11-21T16:00:00Z", []),
    ]
    assert "a class, b course" in told("simulate", "--live")


def test_status_says_when_gpus_are_expected_of_what_runs_and_of_the_next(world: LabOnMoto) -> None:
    deploy(world, CLASS)
    world.lease(opens=-5, closes=60)

    (pool,) = json.loads(told("status", "--json"))["pools"]
    assert [lease["gpus_expected"] for lease in pool["leases"]] == ["2026-11-20T20:05:00Z"]
    assert pool["next"]["gpus_expected"] == "2026-11-21T10:00:00Z"
    text = told("status")
    assert "expected Fri 20 Nov 20:05 UTC" in text
    assert "class Sat 21 Nov 09:50 UTC, GPUs 10:00" in text


def test_free_times_lie_around_the_windows_also_those_that_are_not_in_the_ledger_yet(
    world: LabOnMoto,
) -> None:
    far = {**PLAIN, "name": "far", "nodes": 2, "dates": "2026-11-24"}
    deploy(world, {**PLAIN, "nodes": 2}, far)
    shown = told("windows", "--free", "2h", "--nodes", "2", "--to", "2026-11-25T00:00:00Z", "--json")
    assert json.loads(shown) == {
        "free": [
            {"pool": "gpu", "from": "2026-11-20T20:00:00Z", "until": "2026-11-21T14:00:00Z"},
            {"pool": "gpu", "from": "2026-11-21T15:00:00Z", "until": "2026-11-24T14:00:00Z"},
            {"pool": "gpu", "from": "2026-11-24T15:00:00Z", "until": "2026-11-25T00:00:00Z"},
        ]
    }
    assert "Sat 21 Nov 14:00 UTC" in told("windows", "--free", "2h", "--nodes", "2")


def test_seats_become_nodes(world: LabOnMoto) -> None:
    deploy(world, {**PLAIN, "nodes": 2})
    shown = told("windows", "--free", "1h", "--seats", "2", "--to", "2026-11-21T15:00:00Z", "--json")
    assert [free["until"] for free in json.loads(shown)["free"]] == ["2026-11-21T14:00:00Z"]


def test_what_can_never_be_free_says_why(world: LabOnMoto) -> None:
    deploy(world)
    assert "pool gpu has at most 2" in told("windows", "--free", "2h", "--nodes", "3")
    assert json.loads(told("windows", "--free", "9h", "--json")) == {"free": []}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("--free soon", "soon"),
        ("--nodes 2", "--nodes: says what --free looks for, write --free and a length such as 2h"),
        (
            "--free 2h --nodes 1 --seats 1",
            "--seats: --nodes says how many nodes already, keep one of the two",
        ),
        (
            "--free 2h --to 2026-11-20T20:00:00Z",
            "--to: 2026-11-20T20:00:00Z is not after Fri 20 Nov 20:00 UTC",
        ),
        ("--free 2h --to 2027-11-20T20:00:00Z", "--to: is more than 8 weeks after the beginning"),
        ("--free 2h --from 2027-11-22T20:00:00Z", "--from: no lease is granted more than a year ahead"),
        ("--free 2h --from 9999-12-30T20:00:00Z", "--from: no lease is granted more than a year ahead"),
        ("--free 2h --ics a.ics", "--free: shows free times and --ics writes a calendar"),
    ],
)
def test_free_times_need_a_length_and_a_range(world: LabOnMoto, words: str, wrong: str) -> None:
    deploy(world)
    said = lamplighter("windows", *words.split())
    assert said.returncode == 2
    assert said.stderr.count("\n") == 1
    assert wrong in said.stderr
