"""What the verbs about the calendar print, on a ledger in this process."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.look_after import arm
from handlers.leases import STEPS
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.view_reading import read_lab
from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests.builders.leases import EIGHT
from tests.programs import lamplighter
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto

EVENING = {"name": "evening", "nodes": 2, "days": "daily", "start": "21:00", "end": "23:00"}
NIGHT = {"name": "night", "nodes": 1, "days": "daily", "start": "22:30", "end": "23:30"}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.lab = Lab.model_validate(
            {"name": "lab", "time_zone": "UTC", "windows": [EVENING, NIGHT]}
        )
        plan(made)
        found = Deployment("lab", {"LedgerTable": LEDGER}, Says(EIGHT))
        monkeypatch.setattr(deployment, "find", lambda _name: found)
        yield made


def plan(world: LabOnMoto) -> None:
    topic = boto3.client("sns").create_topic(Name="notices")["TopicArn"]
    plan_all(
        PlannerServices(
            world.guard_services.lease_services,
            world.guard_services.workflows,
            Notices(topic),
            extend_lease=world.close_lab,
        )
    )


def change(world: LabOnMoto, verb: str, **more: object) -> None:
    command = {**world.command(verb, lease=None), "pool": "*", "id": verb, **more}
    STEPS["Change"]({"command": command}, world.guard_services.lease_services)
    plan(world)


def says(*words: str) -> str:
    return lamplighter(*words).stdout


def rows(*words: str) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(says(*words, "--json"))
    return document


def test_windows_says_what_will_not_open_and_why(world: LabOnMoto) -> None:
    night = next(row for row in rows("windows") if row["lease"] == "night-2026-11-20")
    assert night["state"] == "planned"
    assert night["reason"].startswith("pool gpu is full at 22:30 on 2026-11-20 (UTC): the evening lease (2)")
    assert "will not open: pool gpu is full" in says("windows")


def test_windows_says_who_skipped_what_and_why(world: LabOnMoto) -> None:
    change(world, "skip", window="evening", because="of the holiday")
    skipped = next(row for row in rows("windows", "gpu") if row["state"] == "skipped")
    assert (skipped["window"], skipped["date"], skipped["by"]) == ("evening", "2026-11-20", "alice")
    assert "alice skipped evening on 2026-11-20 because of the holiday" in says("windows")


def test_a_pause_is_said_first_with_what_it_does_to_each_window(world: LabOnMoto) -> None:
    change(world, "pause", closes=instant.written(EIGHT + timedelta(hours=2)), because="of the driver")

    said = says("windows")

    assert said.startswith(
        "PAUSED: alice paused the lab until 22:00 on 2026-11-20 (UTC) because of the driver\n"
    )
    assert "opens late, Fri 20 Nov 22:00 UTC, when the pause by alice ends" in said
    assert "PAUSED: alice paused the lab until 22:00" in says("status")
    assert "PAUSED: alice paused the lab until 22:00" in says("simulate", "--live")


def test_a_lease_granted_ahead_stands_among_the_windows(world: LabOnMoto) -> None:
    opens = instant.written(EIGHT + timedelta(hours=8))
    asked = {"opens": opens, "closes": None, "lease": None, "for_seconds": 3600, "nodes": 1, "id": "o"}
    STEPS["Admit"](
        {"command": {**world.command(), **asked, "because": "of the exam"}, "results": {}},
        world.guard_services.lease_services,
    )

    ahead = next(row for row in rows("windows") if row["window"] is None)

    assert (ahead["state"], ahead["opens"], ahead["by"]) == ("admitted", opens, "alice")
    assert "by alice because of the exam" in says("windows")


def test_the_live_plan_is_the_document_of_simulate_with_the_budgets(world: LabOnMoto) -> None:
    change(world, "skip", window="evening", because="holiday")

    document = json.loads(says("simulate", "--live", "--to", "2026-11-22T00:00:00Z", "--json", "-"))

    assert [(one["window"], one["date"]) for one in document["windows"]] == [
        ("night", "2026-11-20"),
        ("evening", "2026-11-21"),
    ]
    assert [(one["window"], one["code"]) for one in document["skipped"]] == [
        ("evening", "excepted"),
        ("night", "pool-full"),
    ]
    assert [one["period"] for one in document["budgets"]] == ["2026-11"]


def test_a_window_ahead_says_whether_aws_will_have_its_nodes_and_by_what(world: LabOnMoto) -> None:
    # given four weekday evenings on record: EC2 was short of nodes on all but the first of them
    for number in range(1, 5):
        opened = EIGHT + timedelta(hours=1) - number * timedelta(days=1)
        shortage = [{"cause": "no-capacity", "summary": "none"}] if number < 4 else []
        receipt = {
            "lease": f"evening-{number}",
            "pool": "gpu",
            "opened": instant.written(opened),
            "closed": instant.written(opened + timedelta(hours=2)),
            "instance_types": ["g5.xlarge"],
            "node_lives": [{"instance": "i-1", "from": instant.written(opened), "to": None}],
            "stages": {"nodes": 60},
            "findings": shortage,
        }
        world.capacity.ledger.put_receipt("gpu", opened, f"evening-{number}", receipt)
    evidence = "3 of the last 4 openings near this time on weekdays were short of nodes; last 2026-11-19"

    # when people look at the plan, then document, table, Slack and page have the same word and evidence
    document = json.loads(says("simulate", "--live", "--to", "2026-11-22T00:00:00Z", "--json", "-"))
    capacity = {one["date"]: one["capacity"] for one in document["windows"] if one["window"] == "evening"}
    assert capacity["2026-11-20"] == {
        "word": "unlikely",
        "evidence": [evidence],
        "at": "2026-11-19T21:00:00Z",
    }
    assert (capacity["2026-11-21"]["word"], capacity["2026-11-21"]["at"]) == ("unknown", None)  # a Saturday
    assert "unlikely: 3 of the" in " ".join(says("simulate", "--live").split())
    view = read_lab(world.capacity.ledger, world.capacity.lab, EIGHT)
    [tonight] = [each for each in view.windows if (each.window, each.date) == ("evening", "2026-11-20")]
    assert tonight.capacity is not None
    assert str(tonight.capacity.said) == f"unlikely: {evidence}"


def test_closing_all_of_a_pool_shows_what_would_go_and_wants_a_word(world: LabOnMoto) -> None:
    world.lease(nodes=1, opens=-10)
    world.scale(2)

    done = lamplighter("close", "--all", "gpu")

    assert "would end cli-1: 1 node on gpu for alice" in done.stdout
    assert "would close 1 node on gpu that no lease justifies" in done.stdout
    assert "stays: evening-2026-11-20 opens at Fri 20 Nov 21:00 UTC" in done.stdout
    assert (done.returncode, done.stderr) == (1, "nothing was closed: say --yes to close all of this\n")


@pytest.mark.parametrize(("words", "wrong"), [
    (("--to", "2026-11-01T00:00:00Z"), "2026-11-01T00:00:00Z is not after now, Fri 20 Nov 20:00 UTC"),
    (("--from", "9999-12-31T00:00:00Z"), "9999-12-31T00:00:00Z is not after --from 9999-12-31T00:00:00Z"),
])  # fmt: skip
def test_a_live_range_without_an_end_ahead_is_bad_input(
    world: LabOnMoto, words: tuple[str, ...], wrong: str
) -> None:
    found = lamplighter("simulate", "--live", *words)
    assert (found.returncode, found.stderr) == (2, f"--to: {wrong}, write a later instant\n")


def test_windows_stand_in_the_order_of_their_dates_skips_among_them(world: LabOnMoto) -> None:
    change(world, "skip", window="night", date="2026-11-21")
    change(world, "skip", id="another", window="evening", date="2026-11-25")

    found = [(row["window"], row["date"], row["state"]) for row in rows("windows")]

    assert found == [
        ("evening", "2026-11-20", "planned"),
        ("night", "2026-11-20", "planned"),
        ("night", "2026-11-21", "skipped"),
        ("evening", "2026-11-21", "planned"),
        ("evening", "2026-11-25", "skipped"),
    ]


@pytest.mark.parametrize(("words", "code", "said"), [
    ("skip nope", 2, "WINDOW: there is no window 'nope', the lab has evening, night"),
    ("ack nope for 2h", 2, "POOL: there is no pool 'nope', the lab has gpu"),
    ("arm gpu", 1, "nothing was changed: say --yes to enforce"),
    ("windows --json --ics -", 2, "--ics: writes a calendar and --json a document, keep one"),
    ("windows --ics /nowhere/x.ics", 2, "--ics: /nowhere/x.ics cannot be written"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_line(
    world: LabOnMoto, monkeypatch: pytest.MonkeyPatch, words: str, code: int, said: str
) -> None:
    monkeypatch.setattr(arm, "would_change", lambda *_: [])
    found = lamplighter(*words.split())
    assert (found.returncode, len(found.stderr.splitlines())) == (code, 1)
    assert found.stderr.startswith(said)
