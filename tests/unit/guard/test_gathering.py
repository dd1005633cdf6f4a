"""What a sweep reads of a pool in AWS and in the ledger: who raised its size, and how an opening ended."""

from dataclasses import replace
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.adapters.capacity.node_group.nodegroups import NodeGroups
from lamplighter.application.guard.facts import gather
from lamplighter.application.guard.services import gather_lab
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.calendar.changes import Pause
from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.evidence import Change, Changing
from lamplighter.domain.capacity.node_group.evidence import NodeGroup, NodeGroupUpdate
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.lab_on_moto import LAB, NODEGROUP, LabOnMoto

ROLLING = NodeGroupUpdate("u-1", "VersionUpdate", "InProgress", EIGHT)


def facts(lab: LabOnMoto, **more: Any) -> PoolFacts:
    """The facts of a sweep; `more` replaces what was read of the lab."""
    return gather(lab.guard_services, "gpu", replace(gather_lab(lab.guard_services), **more))


def said(lab: LabOnMoto, kind: str, lease: str | None = None) -> None:
    lab.capacity.ledger.append_audit(Entry(EIGHT, "gpu", kind, "alice", "did it", "for a reason", lease))


def test_who_raised_the_size_is_said_where_more_is_there_than_leased(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    asg = boto3.client("autoscaling")
    found = []
    for size in (1, 2):
        asg.update_auto_scaling_group(AutoScalingGroupName=lab.group, DesiredCapacity=size)
        found.append(facts(lab).raised_by)

    assert found == [None, reason("guard.raised.past-eks")]


def test_a_pool_is_over_from_the_first_sweep_that_saw_it_until_it_is_leased_or_empty(lab: LabOnMoto) -> None:
    since = []
    lab.scale(1)
    for minutes, leased, nodes in ((0, False, 1), (5, False, 1), (10, True, 1), (15, False, 0)):
        lab.at(minutes)
        lab.scale(nodes)
        if leased:
            lab.lease(nodes=1, opens=10, closes=12)
        since.append((facts(lab).over_since, lab.capacity.ledger.pool("gpu").over_since))

    assert since == [(EIGHT, EIGHT), (EIGHT, EIGHT), (None, None), (None, None)]


def test_a_pool_without_a_group_has_no_failsafe_to_want(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    assert [each.name for each in facts(lab).failsafe_wanted][:1] == ["failsafe-gpu-10"]
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)
    assert facts(lab).failsafe_wanted == ()
    boto3.client("eks").delete_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)
    assert facts(lab).failsafe_wanted == ()


def test_a_failsafe_is_found_by_the_listing_and_by_the_leases(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    names = [f"failsafe-gpu-{minutes}" for minutes in (10, 20, 30, 40)]

    def found(**more: Any) -> list[str]:
        return [each.name for each in facts(lab, **more).failsafe_found or ()]

    assert found() == found(listed=None) == names
    lab.at(120)
    lab.guard_services.lease_services.failsafes.delete(names[:3])
    assert found() == names[3:]


class Updating(NodeGroups):
    """EKS changes the nodes of a group for others."""

    status = "UPDATING"

    def read(self, name: str) -> NodeGroup | None:
        found = super().read(name)
        return found and replace(found, status=self.status)

    def rolling(self, name: str) -> NodeGroupUpdate | None:
        return ROLLING if name else None


@pytest.mark.parametrize(
    ("status", "nodes", "change"),
    [
        ("UPDATING", 1, Change(Changing.REPLACING, ROLLING.created)),
        ("ACTIVE", 1, None),
        ("UPDATING", 0, Change(Changing.UPDATING)),
    ],
)
def test_an_update_is_read_with_a_node(
    lab: LabOnMoto, status: str, nodes: int, change: Change | None
) -> None:
    lab.scale(nodes)
    node_groups = Updating(LAB)
    node_groups.status = status
    lab.port.nodegroups = node_groups

    assert facts(lab).seen.change == change


def test_only_who_extended_a_lease_means_to_use_it(lab: LabOnMoto) -> None:
    said(lab, "extended", "cli-1")
    said(lab, "extended")
    said(lab, "warned", "cli-2")
    assert facts(lab).extended_at == {"cli-1": EIGHT}


def test_what_is_kept_may_be_idle_for_ever(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.lease(nodes=1, name="cli-2")
    kept = lab.capacity.ledger.lease("gpu", "cli-2")
    assert kept is not None
    lab.capacity.ledger.plan(replace(kept.in_state(LeaseState.PLANNED), id="kept", kept="alice"))

    assert facts(lab).idle_after == dict.fromkeys(("cli-1", "cli-2"), 60 * MINUTE)


@pytest.mark.parametrize(
    ("pool", "ours"), [({}, True), ({"existing": NODEGROUP, "instance_type": "g5.xlarge"}, False)]
)
def test_a_pool_is_ours_unless_it_was_adopted(lab: LabOnMoto, pool: dict[str, Any], *, ours: bool) -> None:
    lab.capacity.lab = Lab.model_validate({"name": LAB, "pools": {"gpu": pool}})
    assert facts(lab).ours is ours


def test_another_lab_that_claims_the_pool_is_named_and_our_own_claim_is_not(lab: LabOnMoto) -> None:
    physics, own = LabClaim("physics", overwritten=True), LabClaim(LAB)
    claims = [{NODEGROUP: physics}, {NODEGROUP: own}, {"other": physics}]
    assert [facts(lab, claims=each).other_claim for each in claims] == [physics, None, None]


def test_a_sweep_remembers_for_an_hour_what_it_said(lab: LabOnMoto) -> None:
    lab.scale(1)
    sweep_all(lab.guard_services)
    remembers = {lab.at(minutes): bool(facts(lab).earlier) for minutes in (59, 61)}
    assert [*remembers.values()] == [True, False]


SECOND = 1 / 60
STOPPED = RunEnd.ABORTED


def noted(lab: LabOnMoto, kind: str, minutes: float, lease: str | None = None) -> None:
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
        noted(lab, "resumed", 12)
        noted(lab, "resumed", 1)
    pauses = () if resumed else (Pause("bob", EIGHT, EIGHT + 12 * MINUTE),)

    assert facts(lab, pauses=pauses).opening_ended == found


def test_in_a_pause_nobody_knows_how_an_opening_ended(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, run="open-1")
    stopped(lab)
    lab.at(30)

    held = facts(lab, pauses=(Pause("bob", EIGHT),))

    assert (held.opening_ended, held.held_back, held.target.nodes) == ({}, frozenset({"cli-1"}), 0)
