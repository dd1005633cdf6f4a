"""A close on a real table and real schedules: what it ends, when it waits, and the receipt that it leaves."""

import pytest

from lamplighter.application.leases.close_preview import close_preview
from lamplighter.application.notices.steps import warn
from lamplighter.domain.schedules.schedule import close_command, open_command
from lamplighter.errors import TryLater
from tests.builders.leases import EIGHT
from tests.drawn import sentence
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import asks, closed, ledger, opened, planned, schedules, step, voice


def test_a_command_replayed_after_its_lease_was_closed_opens_nothing(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(30)
    closed(lab, lab.command("close", lease=lease.id))

    replayed = step(lab, "Admit", asks(lab))

    assert replayed["outcome"] == "refused"
    assert "a command opens once" in sentence(replayed["reason"])
    assert lab.capacity.target("gpu", None).nodes == 0


def test_why_a_person_asked_stands_in_the_trail_and_on_the_receipt(lab: LabOnMoto) -> None:
    opened(lab, nodes=1)
    added = opened(lab, name="open-2", nodes=1, add=True, owner="bob", because="of the exam")

    granted = [each for each in ledger(lab).audit("gpu", EIGHT) if each.lease == added.id]
    assert "for bob because of the exam" in str(granted[0].why)
    assert closed(lab, lab.command("close", lease=added.id))["because"] == "of the exam"


def test_every_closing_step_may_run_twice(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(120)
    command = close_command(lease).to_json()

    first = closed(lab, command)
    ledger_after = ledger(lab).budget("2026-11", "USD")
    restored = step(lab, "RestoreExperiments", command)

    assert first["lease"] == lease.id
    assert restored["over"] is True
    assert ledger(lab).budget("2026-11", "USD") == ledger_after


def test_while_it_closes_early_the_failsafe_moves_nearer(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(30)
    step(lab, "RestoreExperiments", lab.command("close", lease=lease.id))
    assert schedules()["failsafe-gpu-10"] == "at(2026-11-20T20:40:00)"


def test_a_window_that_begins_as_another_ends_takes_its_nodes_over(lab: LabOnMoto) -> None:
    first = planned(lab, "early", 0, 60)
    second = planned(lab, "late", 60, 120)
    step(lab, "Admit", open_command(first).to_json())
    lab.at(60)

    step(lab, "RestoreExperiments", close_command(first).to_json())

    assert lab.kept(second.id).in_force(lab.capacity.now())
    assert lab.capacity.target("gpu", None).nodes == 2
    assert schedules()["failsafe-gpu-10"] == "at(2026-11-20T22:10:00)"
    assert step(lab, "Admit", open_command(second).to_json())["outcome"] == "granted"


def test_a_close_right_before_a_window_waits_for_it(lab: LabOnMoto) -> None:
    lease = opened(lab, for_seconds=1800)
    planned(lab, "evening", 31, 120)
    lab.at(30.5)

    with pytest.raises(TryLater, match="takes over"):
        step(lab, "RestoreExperiments", close_command(lease).to_json())


def test_a_failed_opening_is_closed_by_its_command_alone(lab: LabOnMoto) -> None:
    lease = opened(lab)
    cause = '{"errorMessage": "the validator is stuck", "errorType": "OutsideFailed"}'

    done = step(
        lab,
        "RestoreExperiments",
        lab.command(
            "close", lease=None, opened_by="open-1", source="guard", because=f"OutsideFailed: {cause}"
        ),
    )

    assert done["closing"] == [lease.id]
    assert sentence(done["reason"]) == "OutsideFailed: the validator is stuck"


def test_a_run_that_found_the_pool_open_and_failed_closes_nobodys_lease(lab: LabOnMoto) -> None:
    theirs = opened(lab)
    found = step(lab, "Admit", asks(lab, "open-2", owner="bob", by="bob"))

    failed = lab.command("close", lease=None, opened_by="open-2", source="guard", because="no answer came")
    done = step(lab, "RestoreExperiments", failed)

    assert found["outcome"] == "already-open"
    assert done["closing"] == []
    assert [lease.granted for lease in ledger(lab).leases("gpu") if lease.id == theirs.id] == [True]


def test_a_warning_for_an_end_that_was_moved_is_not_said(lab: LabOnMoto) -> None:
    lease = opened(lab)
    lab.at(105)
    run = {"command": close_command(lease).to_json(), "results": {}}

    assert warn(run, voice(lab))["announced"] is True
    step(lab, "Extend", lab.command("extend", lease=lease.id, for_seconds=3600))
    assert warn(run, voice(lab))["announced"] is False


def test_it_tells_running_leases_from_later_ones_and_from_nodes_without_a_lease(lab: LabOnMoto) -> None:
    running = lab.lease(nodes=1, opens=-10, closes=60)
    later = lab.lease(nodes=1, opens=60, closes=120, name="cli-2")
    lab.scale(2)

    preview = close_preview(lab.capacity, "gpu", EIGHT)

    assert [lease.id for lease in preview.ending] == [running.id]
    assert preview.nodes_without_lease == 1
    assert [lease.id for lease in preview.later] == [later.id]


def test_a_pool_at_zero_has_nothing_to_end(lab: LabOnMoto) -> None:
    preview = close_preview(lab.capacity, "gpu", EIGHT)
    assert (preview.ending, preview.nodes_without_lease, preview.later) == ((), 0, ())
