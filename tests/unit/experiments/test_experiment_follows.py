"""The end of a lease with an experiment: it is restored first, or a notice says that it is not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lamplighter.application.leases.experiments import experiment_follows, undone_before_the_end
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.commands.command import Command
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.document import read
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.ledger.test_history import RUN
from tests.unit.ledger.test_ledger import decision, entry


def lease_services(lab: LabOnMoto, asked: list[dict[str, Any]], *broken: str) -> LeaseServices:
    """The desk; the experiments function writes down what it is asked, and cannot undo what is broken."""

    def ask(event: Mapping[str, Any]) -> Mapping[str, object]:
        command = event["run"]["command"]
        asked.append({"step": event["step"], **command})
        if command["experiment"] in broken:
            raise OutsideFailed("ec2:AuthorizeSecurityGroupIngress failed")
        return {}

    return replace(lab.guard_services.lease_services, ask_experiments=ask)


def close(lab: LabOnMoto) -> Command:
    return Command.from_json(lab.command("close"))


def ran(lab: LabOnMoto, *runs: ExperimentRun) -> None:
    """Runs one after the other, all but the last undone."""
    ledger = lab.capacity.ledger
    for number, run in enumerate(runs, 1):
        ledger.begin_experiment(run, decision(run.id), entry("experiment"))
        if number < len(runs):
            ledger.advance_experiment(run.moved_to(ExperimentPhase.RESTORED), [ExperimentPhase.PREPARED])


def told(lab: LabOnMoto) -> list[tuple[str, str, dict[str, str]]]:
    found = lab.capacity.ledger.audit("gpu", EIGHT)
    return [
        (str(each.what), str(each.why), dict(each.details)) for each in found if "not-restored" in each.kind
    ]


def named(name: str, lease: str = "cli-1") -> ExperimentRun:
    return replace(RUN, id=name, lease=lease)


def test_every_experiment_of_a_lease_that_ends_is_undone_though_one_cannot_be(lab: LabOnMoto) -> None:
    asked: list[dict[str, Any]] = []
    lease = lab.lease(nodes=1)
    ran(lab, named("a"), named("b", "other"), named("c"), named("d"), named("e"))

    undone = undone_before_the_end([lease], close(lab), ["d"], lease_services(lab, asked, "c"))

    assert sorted(undone) == ["a", "e"]
    assert sorted(each["experiment"] for each in asked) == ["a", "c", "e"]
    assert {(each["step"], str(read(each["because"])), each["by"]) for each in asked} == {
        ("Restore", "alice's lease ends", "alice")
    }
    assert {each["expires"] for each in asked} == {"2026-11-21T20:00:00Z"}
    assert told(lab) == [
        (
            "could not restore nccl-blocked",
            (
                "it could not be restored as its lease ended: ec2:AuthorizeSecurityGroupIngress failed; "
                "its schedules and the guard keep trying"
            ),
            {"run": "c"},
        )
    ]


def test_where_no_lease_ends_no_experiment_is_asked_for(lab: LabOnMoto) -> None:
    asked: list[dict[str, Any]] = []
    ran(lab, named("a"))
    assert undone_before_the_end([], close(lab), [], lease_services(lab, asked)) == []
    assert asked == []


@pytest.mark.parametrize(("lease", "moved"), [("cli-1", True), ("other", False), (None, False)])
def test_the_schedules_of_an_experiment_follow_its_own_lease(
    lab: LabOnMoto, lease: str | None, *, moved: bool
) -> None:
    asked: list[dict[str, Any]] = []
    ends: Lease = lab.lease(nodes=1)
    if lease:
        ran(lab, named("a", lease))

    experiment_follows(ends, close(lab), lease_services(lab, asked))

    because = "alice's lease ends at 22:00 UTC on 2026-11-20"
    assert [(each["step"], each["experiment"], str(read(each["because"]))) for each in asked] == (
        [("Rearm", "a", because)] if moved else []
    )
    assert told(lab) == []


def test_schedules_that_cannot_follow_are_said(lab: LabOnMoto) -> None:
    ran(lab, named("a"))
    experiment_follows(lab.lease(nodes=1), close(lab), lease_services(lab, [], "a"))
    [(_, why, _)] = told(lab)
    assert why.startswith("its schedules could not be moved with its lease: ec2:Authorize")
