"""How a grant comes about: when it waits, when it is left to a schedule, and what stands in the ledger of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from handlers.leases import STEPS
from lamplighter.domain import instant
from lamplighter.domain.changes import Pause
from lamplighter.domain.commands import Decision
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.progress import Noted, Stage
from lamplighter.domain.schedule import open_command
from lamplighter.errors import TryLater
from lamplighter.lab import Lab
from tests.unit import aws_calls
from tests.unit.lab_on_moto import EIGHT, LEDGER, LabOnMoto, lab_on_moto
from tests.unit.test_leases import MINUTE, asks, ledger, opened, planned, schedules, step

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        yield made


def ahead(lab: LabOnMoto, name: str = "open-1", seconds: float = 0, **more: object) -> dict[str, Any]:
    """What Admit says to who asks for a lease that opens so many seconds after eight."""
    opens = instant.written(EIGHT + seconds * SECOND)
    return step(lab, "Admit", asks(lab, name, opens=opens, **more))


def forget(lease: str) -> None:
    boto3.client("dynamodb").delete_item(
        TableName=LEDGER, Key={"pk": {"S": "POOL#gpu"}, "sk": {"S": f"LEASE#{lease}"}}
    )


def failsafe_in_the_air(lab: LabOnMoto) -> None:
    """Of a lease that ended at eight: its first shot comes at ten past, in half a minute."""
    lab.lease(nodes=1, opens=-60, closes=0, name="over")
    lab.watch.desk.arm("gpu")
    lab.at(9.5)


@pytest.mark.parametrize("seconds", [1, 119, 120])
def test_an_opening_within_two_minutes_is_waited_for(lab: LabOnMoto, seconds: int) -> None:
    with pytest.raises(TryLater, match=f"the lease opens in {seconds} s"):
        ahead(lab, seconds=seconds)


@pytest.mark.parametrize(("seconds", "later"), [(-1, False), (0, False), (121, True)])
def test_an_opening_further_ahead_is_left_to_its_schedule(
    lab: LabOnMoto, seconds: int, *, later: bool
) -> None:
    answer = ahead(lab, seconds=seconds)

    lease = Lease.from_json(answer["lease"])
    assert (answer["outcome"], answer["later"]) == ("granted", later)
    assert (f"open-{lease.id}" in schedules()) is later
    assert lease.run == (open_command(lease).id if later else "open-1")
    armed = {} if later else {Stage.ARMED: Noted(0, 1, EIGHT, EIGHT)}
    assert ledger(lab).progress("gpu", lease.id) == armed


@pytest.mark.parametrize(("seconds", "outcome"), [(7199, "granted"), (7200, "refused")])
def test_a_command_that_comes_again_has_its_lease_until_that_ends(
    lab: LabOnMoto, seconds: int, outcome: str
) -> None:
    opened(lab)
    lab.at(seconds / 60)

    assert step(lab, "Admit", asks(lab))["outcome"] == outcome


def test_a_command_whose_lease_is_gone_opens_nothing_more(lab: LabOnMoto) -> None:
    forget(opened(lab).id)

    assert step(lab, "Admit", asks(lab)) == {
        "outcome": "refused",
        "reason": "this command was granted at 20:00 UTC on 2026-11-20 and its lease is gone: a command opens once",
        "lease": None,
        "earliest": None,
        "later": False,
    }


def test_who_finds_the_pool_open_is_told_which_lease_it_is_and_that_is_no_refusal(lab: LabOnMoto) -> None:
    mine = opened(lab, nodes=1)

    again = step(lab, "Admit", asks(lab, "open-2", nodes=1))

    assert again["lease"]["id"] == mine.id
    [said] = [entry for entry in ledger(lab).audit("gpu", EIGHT) if entry.what.startswith("asked to open")]
    assert (said.kind, said.what, said.lease) == ("answered", "asked to open pool gpu: already-open", mine.id)
    assert ledger(lab).progress("gpu", mine.id) == {Stage.ARMED: Noted(1, 1, EIGHT, EIGHT)}


def test_a_lease_for_later_is_granted_while_the_failsafe_of_another_fires(lab: LabOnMoto) -> None:
    failsafe_in_the_air(lab)

    assert ahead(lab, seconds=3600)["later"] is True


def test_a_lease_that_was_granted_ahead_opens_after_the_failsafe_of_another_has_fired(lab: LabOnMoto) -> None:
    mine = Lease.from_json(ahead(lab, seconds=570)["lease"])
    failsafe_in_the_air(lab)

    with pytest.raises(TryLater, match="nothing opens before that is over"):
        step(lab, "Admit", open_command(mine).to_json())
    lab.at(16)
    answer = step(lab, "Admit", {**open_command(mine).to_json(), "id": "late"})
    assert (answer["outcome"], answer["lease"]["run"]) == ("granted", "late")


def test_a_refusal_leaves_the_failsafe_alone(lab: LabOnMoto) -> None:
    failsafe_in_the_air(lab)
    forget("over")

    assert step(lab, "Admit", asks(lab, expires="2026-11-20T20:00:00Z"))["outcome"] == "refused"
    assert ledger(lab).pool("gpu").failsafe_at == EIGHT + 10 * MINUTE


def test_a_failsafe_that_was_moved_for_a_lease_is_moved_back_where_it_is_not_granted(lab: LabOnMoto) -> None:
    paused: list[str] = []

    def meanwhile(_service: str, operation: str, _given: object) -> None:
        if operation == "TransactWriteItems" and not paused:
            paused.append(operation)
            ledger(lab).pause(Pause("bob", EIGHT), "*", Decision("p", "paused", "exams", EIGHT), [])

    with aws_calls.heard(meanwhile):
        answer = step(lab, "Admit", asks(lab))

    assert answer["outcome"] == "refused"
    assert (schedules(), ledger(lab).pool("gpu").failsafe_at) == ({}, None)


def test_a_window_says_in_the_trail_that_it_opens_and_a_person_s_lease_does_not(lab: LabOnMoto) -> None:
    window = planned(lab, "evening", 0, 120)
    step(lab, "Admit", open_command(replace(window, nodes=1)).to_json())
    window_opens = [entry for entry in ledger(lab).audit("gpu", EIGHT) if entry.kind == "window-opens"]

    assert [(each.at, each.who, each.what, each.why, each.lease) for each in window_opens] == [
        (
            EIGHT,
            "window evening",
            "opens pool gpu",
            "window evening opens at 05:00 on 2026-11-21 (Asia/Seoul)",
            window.id,
        )
    ]
    lab.at(120)
    opened(lab, name="open-2")
    assert [each for each in ledger(lab).audit("gpu", EIGHT + HOUR) if each.kind == "window-opens"] == []


def test_a_refused_window_is_refused_alone(lab: LabOnMoto) -> None:
    first, second = planned(lab, "early", -30, 60), planned(lab, "late", 0, 120)

    refused = step(lab, "Admit", open_command(second).to_json())

    assert refused["outcome"] == "refused"
    states = {lease.id: lease.state for lease in ledger(lab).leases("gpu")}
    assert states == {first.id: LeaseState.PLANNED, second.id: LeaseState.REFUSED}


def test_a_window_that_is_not_planned_yet_stands_in_nobody_s_way_who_opens_now(lab: LabOnMoto) -> None:
    lab.capacity.lab = with_window("20:30", "22:00")

    assert ahead(lab)["outcome"] == "granted"


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"closes": "2026-11-23T02:00:00Z", "for_seconds": None}, "granted"),
        ({"closes": "2026-11-23T02:00:01Z", "for_seconds": None}, "refused"),
        ({"for_seconds": 3600}, "granted"),
        ({"for_seconds": 3601}, "refused"),
        ({"for_seconds": None}, "granted"),
        ({"for_seconds": None, "opens": "2026-11-23T01:00:01Z"}, "refused"),
        ({"for_seconds": 3601, "nodes": 1}, "granted"),
    ],
)
def test_a_lease_ahead_gives_way_to_the_windows_until_its_own_end(
    lab: LabOnMoto, more: dict[str, object], outcome: str
) -> None:
    """The window is not planned that far ahead; one of its dates stands in the ledger all the same."""
    lab.capacity.lab = with_window("02:00", "03:00")
    date = EIGHT + timedelta(days=2, hours=6)
    there = replace(planned(lab, "night", 0, 60), nodes=1, opens=date, closes=date + HOUR)
    ledger(lab).plan(replace(there, id="night-2026-11-23", date="2026-11-23"))
    forget("night-2026-11-20")

    answer = step(lab, "Admit", asks(lab, **{"opens": "2026-11-23T01:00:00Z", **more}))

    assert answer["outcome"] == outcome


def with_window(start: str, end: str) -> Lab:
    window = {"name": "night", "nodes": 1, "days": "daily", "start": start, "end": end}
    return Lab.model_validate({"name": "lab", "time_zone": "UTC", "windows": [window]})


def test_a_failsafe_is_armed_for_nobody_where_there_is_no_lease(lab: LabOnMoto) -> None:
    assert step(lab, "ArmFailsafe", asks(lab), Admit={"outcome": "refused", "lease": None}) == {
        "at": None,
        "schedules": [],
    }
    assert ledger(lab).audit("gpu", EIGHT) == []


def test_of_a_lease_that_is_being_closed_nothing_but_the_failsafe_is_armed(lab: LabOnMoto) -> None:
    admitted = step(lab, "Admit", asks(lab))
    name = admitted["lease"]["id"]
    STEPS["RestoreExperiments"]({"command": lab.command("close", lease=name), "results": {}}, lab.watch.desk)

    done = step(lab, "ArmFailsafe", asks(lab), Admit=admitted)

    assert done == {
        "at": "2026-11-20T20:10:00Z",
        "schedules": [f"failsafe-gpu-{minutes}" for minutes in (10, 20, 30, 40)],
    }
    assert ledger(lab).progress("gpu", name) == {Stage.ARMED: Noted(0, 1, EIGHT, EIGHT)}
    [said] = [entry for entry in ledger(lab).audit("gpu", EIGHT) if entry.kind == "failsafe-armed"]
    assert (said.what, said.lease, said.details) == (
        "armed the failsafe of pool gpu for 20:10 UTC on 2026-11-20",
        name,
        {"at": "2026-11-20T20:10:00Z"},
    )
