"""How long the guard waits for the run that opens a lease, and how far back it reads the audit trail."""

from collections.abc import Mapping

import boto3

from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import gather_lab
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.schedules.schedule import RunEnd
from tests.unit.lab_on_moto import LabOnMoto

SECOND = 1 / 60


def known(lab: LabOnMoto, minutes: float) -> PoolFacts:
    """What a sweep knows of the pool so many minutes after eight."""
    lab.at(minutes)
    return gather(lab.guard_services, "gpu", gather_lab(lab.guard_services))


def ended(lab: LabOnMoto, *minutes: float) -> list[Mapping[str, RunEnd]]:
    return [known(lab, each).opening_ended for each in minutes]


def test_a_run_that_was_stopped_is_asked_for_ten_minutes_after_the_opening(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, run="open-cli-1", closes=60)
    sfn = boto3.client("stepfunctions")
    run = sfn.start_execution(stateMachineArn=lab.close_lab, name="open-cli-1", input="{}")
    sfn.stop_execution(executionArn=run["executionArn"])
    stopped = {"cli-1": RunEnd.ABORTED}

    assert ended(lab, 10 - SECOND, 10, 60 - SECOND, 60) == [{}, stopped, stopped, {}]


def test_a_run_that_was_never_started_may_still_be_for_twenty_five_minutes(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, run="open-cli-1", closes=60)

    assert ended(lab, 25 - SECOND, 25) == [{}, {"cli-1": RunEnd.NEVER_STARTED}]


def test_leases_without_a_run_are_passed_over_and_those_behind_them_are_not(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, closes=60, name="cli-0")
    lab.lease(nodes=1, run="open-cli-1", closes=60)

    assert ended(lab, 30) == [{"cli-1": RunEnd.NEVER_STARTED}]


def test_a_sweep_remembers_for_an_hour_what_it_said(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.at(0)
    sweep_all(lab.guard_services)

    assert [bool(known(lab, minutes).earlier) for minutes in (59, 61)] == [True, False]
