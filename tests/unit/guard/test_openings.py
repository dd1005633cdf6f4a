"""How a sweep finds out that the run of an opening failed, and from when on it asks."""

import boto3
import pytest

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.guard.test_gathering import facts
from tests.unit.lab_on_moto import LabOnMoto

SECOND = 1 / 60
STOPPED = RunEnd.ABORTED


def said(lab: LabOnMoto, kind: str, minutes: float, lease: str | None = None) -> None:
    at = EIGHT + minutes * MINUTE
    lab.capacity.ledger.append_audit(Entry(at, "gpu", kind, "alice", "did it", "for a reason", lease))


def stopped(lab: LabOnMoto, name: str = "open-1", *, stop: bool = True) -> None:
    """A run of OpenLab that somebody stopped."""
    sfn = boto3.client("stepfunctions")
    run = sfn.start_execution(stateMachineArn=lab.close_lab, name=name, input="{}")
    if stop:
        sfn.stop_execution(executionArn=run["executionArn"])


@pytest.mark.parametrize(
    ("minutes", "found"),
    [(10 - SECOND, {}), (10, {"cli-1": STOPPED}), (60 - SECOND, {"cli-1": STOPPED}), (60, {})],
)
def test_openings_are_read_after_ten_minutes(
    lab: LabOnMoto, minutes: float, found: dict[str, RunEnd]
) -> None:
    lab.lease(nodes=1, closes=60, run="open-1")
    stopped(lab)
    lab.at(minutes)
    assert facts(lab).opening_ended == found


@pytest.mark.parametrize(("minutes", "found"), [(25 - SECOND, {}), (25, {"cli-1": RunEnd.NEVER_STARTED})])
def test_runs_may_begin_for_25_minutes(lab: LabOnMoto, minutes: float, found: dict[str, RunEnd]) -> None:
    lab.lease(nodes=1, run="open-1")
    lab.at(minutes)
    assert facts(lab).opening_ended == found


class Unknown(Workflows):
    """Step Functions does not answer about one run."""

    def ended(self, workflow: str, name: str) -> RunEnd | None:
        if name == "unknown":
            raise OutsideFailed("states:DescribeExecution got no answer")
        return super().ended(workflow, name)


def test_an_opening_that_failed_is_found_behind_those_that_did_not(lab: LabOnMoto) -> None:
    lab.guard_services.workflows = Unknown()
    stopped(lab)
    stopped(lab, "open-2", stop=False)
    for number, run in enumerate((None, "unknown", "open-2", "never", "open-1")):
        lab.lease(nodes=1, name=f"cli-{number}", opens=number - 20, closes=60 + number, run=run)
    lab.lease(nodes=1, name="cli-8", opens=-1, run="open-1")
    lab.at(0)
    assert facts(lab).opening_ended == {"cli-4": STOPPED}
    lab.lease(nodes=1, name="short", opens=-40, closes=-10, run="open-1")
    lab.lease(nodes=1, name="first", opens=-50, run=None)

    assert facts(lab).opening_ended == {"cli-4": STOPPED}


def test_a_lease_that_opened_or_that_nobody_opens_is_not_asked_about(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=1, run="open-1")
    stopped(lab)
    lab.at(12)

    assert facts(lab, pauses=None).opening_ended == {}
    lab.capacity.ledger.advance("gpu", lease.id, LeaseState.OPENING, EIGHT)
    assert facts(lab, pauses=None).opening_ended == {"cli-1": STOPPED}
    lab.capacity.ledger.advance("gpu", lease.id, LeaseState.OPEN, EIGHT)
    assert facts(lab).opening_ended == {}


@pytest.mark.parametrize(("minutes", "found"), [(12, {}), (22 - SECOND, {}), (22, {"cli-1": STOPPED})])
@pytest.mark.parametrize("resumed", [True, False])
def test_what_a_pause_held_back_has_its_ten_minutes_from_the_end_of_it(
    lab: LabOnMoto, minutes: float, found: dict[str, RunEnd], *, resumed: bool
) -> None:
    lab.lease(nodes=1, run="open-1")
    stopped(lab)
    lab.at(minutes)
    if resumed:
        said(lab, "resumed", 12)
        said(lab, "resumed", 1)
    pauses = () if resumed else (Pause("bob", EIGHT, EIGHT + 12 * MINUTE),)

    assert facts(lab, pauses=pauses).opening_ended == found


def test_in_a_pause_nobody_knows_how_an_opening_ended(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, run="open-1")
    stopped(lab)
    lab.at(30)

    held = facts(lab, pauses=(Pause("bob", EIGHT),))

    assert (held.opening_ended, held.held_back, held.target.nodes) == ({}, frozenset({"cli-1"}), 0)
