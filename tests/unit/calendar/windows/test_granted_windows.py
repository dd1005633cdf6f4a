"""Windows and those who ask beside them, and what is armed for whom."""

from dataclasses import replace
from datetime import timedelta

import pytest

from handlers.leases import STEPS
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Noted, Stage
from lamplighter.domain.schedules.schedule import open_command
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, HOUR
from tests.unit.granting.test_granting import ahead, forget
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import asks, ledger, opened, planned, step


def test_a_window_says_in_the_trail_that_it_opens_and_a_person_s_lease_does_not(lab: LabOnMoto) -> None:
    window = planned(lab, "evening", 0, 120)
    step(lab, "Admit", open_command(replace(window, nodes=1)).to_json())
    window_opens = [entry for entry in ledger(lab).audit("gpu", EIGHT) if entry.kind == "window-opens"]

    assert [(each.at, each.who, each.what, each.why, each.lease) for each in window_opens] == [
        (
            EIGHT,
            "window evening",
            reason("audit.window-opens", pool="gpu"),
            reason("audit.window-opens.why", window="evening", at=EIGHT),
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


@pytest.mark.parametrize(("more", "outcome"), [
    ({"closes": "2026-11-23T02:00:00Z", "for_seconds": None}, "granted"),
    ({"closes": "2026-11-23T02:00:01Z", "for_seconds": None}, "refused"),
    ({"for_seconds": 3600}, "granted"),
    ({"for_seconds": 3601}, "refused"),
    ({"for_seconds": None}, "granted"),
    ({"for_seconds": None, "opens": "2026-11-23T01:00:01Z"}, "refused"),
    ({"for_seconds": 3601, "nodes": 1}, "granted"),
])  # fmt: skip
def test_a_lease_ahead_gives_way_to_the_windows_until_its_own_end(
    lab: LabOnMoto, more: dict[str, object], outcome: str
) -> None:
    """The window is not planned that far ahead; one of its dates stands in the ledger all the same."""
    lab.capacity.lab = with_window("02:00", "03:00")
    date = EIGHT + timedelta(days=2, hours=6)
    there = replace(planned(lab, "night", 0, 60), nodes=1, opens=date, closes=date + HOUR)
    ledger(lab).plan(replace(there, id="night-2026-11-23", date="2026-11-23"))
    forget("night-2026-11-20")

    answer = step(lab, "Admit", {**asks(lab), "opens": "2026-11-23T01:00:00Z", **more})

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
    STEPS["RestoreExperiments"](
        {"command": lab.command("close", lease=name), "results": {}}, lab.guard_services.lease_services
    )

    done = step(lab, "ArmFailsafe", asks(lab), Admit=admitted)

    assert done == {
        "at": "2026-11-20T20:10:00Z",
        "schedules": [f"failsafe-gpu-{minutes}" for minutes in (10, 20, 30, 40)],
    }
    assert ledger(lab).progress("gpu", name) == {Stage.ARMED: Noted(0, 1, EIGHT, EIGHT)}
    [said] = [entry for entry in ledger(lab).audit("gpu", EIGHT) if entry.kind == "failsafe-armed"]
    assert (said.what, said.lease, said.details) == (
        reason("audit.failsafe-armed", pool="gpu", at=EIGHT + timedelta(minutes=10)),
        name,
        {"at": "2026-11-20T20:10:00Z"},
    )
