"""How the failsafe is moved and schedules are put, and that nothing opens while a failsafe that fired still runs."""

import json
from dataclasses import replace
from datetime import timedelta

import boto3
import pytest

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.leases.budgets import budgets_at
from lamplighter.application.leases.granting import admitted
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.run import command_of
from lamplighter.domain.capacity.kinds import pools_of
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.errors import BadInput, OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE
from tests.unit import aws_calls
from tests.unit.granting.test_granting import forget
from tests.unit.lab_on_moto import ROLE, LabOnMoto
from tests.unit.leases.steps import schedules

SECOND = 1 / 60
SHOTS = [f"failsafe-gpu-{minutes}" for minutes in (10, 20, 30, 40)]


@pytest.fixture
def lease_services(lab: LabOnMoto) -> LeaseServices:
    """At a desk whose pool has had a lease until eight: its failsafe first fires at ten past."""
    lab.lease(nodes=1, opens=-60, closes=0)
    made: LeaseServices = lab.guard_services.lease_services
    assert made.arm("gpu") == (EIGHT + 10 * MINUTE, tuple(SHOTS))
    return made


def moved(lease_services: LeaseServices, name: str, minutes: float) -> None:
    found = lease_services.failsafes.read(name)
    assert found is not None
    lease_services.failsafes.put(replace(found, at=EIGHT + minutes * MINUTE))


@pytest.mark.parametrize(
    ("minutes", "shot", "waits"),
    [
        (8.5 - SECOND, "there", False),
        (8.5, "there", True),
        (10 - SECOND, "gone", True),
        (10, "there", True),
        (10, "gone", False),
        (10, "elsewhere", False),
        (16 - SECOND, "there", True),
        (16, "there", False),
    ],
)
def test_no_failsafe_is_forgotten_in_the_air(
    lab: LabOnMoto, lease_services: LeaseServices, minutes: float, shot: str, *, waits: bool
) -> None:
    forget("cli-1")
    if shot == "gone":
        lease_services.failsafes.delete(SHOTS[:1])
    if shot == "elsewhere":
        moved(lease_services, SHOTS[0], 60)
    lab.at(minutes)

    if waits:
        with pytest.raises(TryLater, match="fires at 20:10 UTC on 2026-11-20 and may retry until 20:16"):
            lease_services.arm("gpu")
        assert lab.capacity.ledger.pool("gpu").failsafe_at == EIGHT + 10 * MINUTE
    else:
        assert lease_services.arm("gpu") == (None, ())
        assert (schedules(), lab.capacity.ledger.pool("gpu").failsafe_at) == ({}, None)


def test_a_failsafe_that_stays_waits_for_no_shot(lab: LabOnMoto, lease_services: LeaseServices) -> None:
    lab.at(10)
    assert lease_services.arm("gpu")[0] == EIGHT + 10 * MINUTE


@pytest.mark.parametrize(("minutes", "put"), [(8.5 - SECOND, SHOTS), (8.5, SHOTS[1:])])
def test_a_shot_about_to_fire_is_not_put(
    lab: LabOnMoto, lease_services: LeaseServices, minutes: float, put: list[str]
) -> None:
    lease_services.failsafes.delete(SHOTS)
    lab.at(minutes)
    lease_services.arm("gpu")
    assert sorted(schedules()) == put


@pytest.mark.parametrize(("minutes", "closes"), [(58.5 - SECOND, True), (58.5, False)])
def test_an_end_in_ninety_seconds_has_no_schedule(lab: LabOnMoto, minutes: float, *, closes: bool) -> None:
    lease = lab.lease(nodes=1, closes=60)
    lab.at(minutes)

    put = lab.guard_services.lease_services.schedule_end(lease)

    assert put == (("close-cli-1",) if closes else ())
    assert tuple(schedules()) == put
    lab.guard_services.lease_services.unschedule(lease)
    assert schedules() == {}


def test_a_lease_about_to_be_written_counts_once(lab: LabOnMoto, lease_services: LeaseServices) -> None:
    """Moved nearer, its old end counts no more; new, it counts before it is in the ledger."""
    lease = lab.capacity.ledger.leases("gpu")[0]
    nearer, _ = lease_services.arm("gpu", also=replace(lease, closes=EIGHT - 5 * MINUTE))
    later, _ = lease_services.arm("gpu", also=replace(lease, id="new", closes=EIGHT + 60 * MINUTE))
    assert (nearer, later) == (EIGHT + 5 * MINUTE, EIGHT + 70 * MINUTE)


def test_a_failsafe_that_was_set_for_what_has_changed_is_set_again_three_times(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    looks: list[str] = []

    def move(_service: str, operation: str, _given: object) -> None:
        # Each look reads the pool and then its leases.
        if operation == "Query":
            looks.append(operation)
            if len(looks) <= times:
                lab.generation_moves()

    for times in (2, 99):
        looks.clear()
        lab.guard_services.lease_services.failsafes.delete(SHOTS)
        with aws_calls.heard(move):
            if times == 2:
                assert lab.guard_services.lease_services.arm("gpu")[0] == EIGHT + 130 * MINUTE
            else:
                with pytest.raises(TryLater, match="the leases of pool gpu changed while its failsafe"):
                    lab.guard_services.lease_services.arm("gpu")
        assert len(looks) == 3


def test_a_node_group_without_its_group_cannot_be_armed_yet(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)
    with pytest.raises(TryLater, match="node group lab-ng-gpu has no Auto Scaling group yet"):
        lab.guard_services.lease_services.arm("gpu")


def test_what_a_failsafe_should_be_is_told_without_setting_it(lab: LabOnMoto) -> None:
    assert lab.guard_services.lease_services.wanted_failsafe("gpu") == ()
    lab.lease(nodes=1)
    wanted: list[Schedule] = list(lab.guard_services.lease_services.wanted_failsafe("gpu"))
    assert ([each.name for each in wanted], schedules()) == (SHOTS, {})


def test_the_budget_of_a_period_comes_with_that_of_the_next(lab: LabOnMoto) -> None:
    lease_services = lab.guard_services.lease_services
    assert sorted(budgets_at(lease_services.ledger, lease_services.terms("gpu"), EIGHT)) == [
        "2026-11",
        "2026-12",
    ]


def test_a_run_without_its_command_is_bad_input() -> None:
    with pytest.raises(BadInput, match="command: a run needs the command that started it"):
        command_of({"command": None})


FIRED = EIGHT + timedelta(minutes=10)


def during(lab: LabOnMoto, *inputs: str) -> LeaseServices:
    return replace(lab.guard_services.lease_services, off_switch_runs=lambda: pools_of(inputs))


def test_nothing_opens_on_the_pool_of_a_run(lab: LabOnMoto) -> None:
    opening = command_of({"command": lab.command("open", lease=None)})

    with pytest.raises(TryLater, match="the failsafe of pool gpu has fired and still runs"):
        admitted(opening, during(lab, '{"pool": "gpu", "rail": "ec2"}'))

    assert lab.capacity.ledger.leases("gpu") == []
    assert admitted(opening, during(lab))["outcome"] == "granted"


@pytest.mark.parametrize("given", ['{"pool": "other", "rail": "ec2"}', "", "[]", '{"rail": "ec2"}'])
def test_the_run_of_another_pool_or_of_nobody_of_ours_holds_up_nothing(lab: LabOnMoto, given: str) -> None:
    during(lab, given).let_it_end("gpu")


@pytest.mark.usefixtures("lab")
def test_the_runs_that_go_on_are_read_from_step_functions() -> None:
    wait = {"StartAt": "Wait", "States": {"Wait": {"Type": "Pass", "End": True}}}
    sfn = boto3.client("stepfunctions")
    machine = sfn.create_state_machine(name="lab-failsafe", definition=json.dumps(wait), roleArn=ROLE)
    arn = machine["stateMachineArn"]
    for pool in ("gpu", "other"):
        sfn.start_execution(stateMachineArn=arn, name=pool, input=json.dumps({"pool": pool, "rail": "ec2"}))
    [ended] = [
        each for each in sfn.list_executions(stateMachineArn=arn)["executions"] if each["name"] == "other"
    ]
    sfn.stop_execution(executionArn=ended["executionArn"])

    assert pools_of(Workflows().inputs_of_running(arn)) == ["gpu"]


@pytest.mark.usefixtures("lab")
def test_without_the_machine_nothing_says_that_none_of_its_runs_goes_on() -> None:
    with pytest.raises(OutsideFailed, match="states:ListExecutions"):
        Workflows().inputs_of_running("arn:aws:states:ap-northeast-2:123456789012:stateMachine:gone")


@pytest.mark.parametrize(("seconds", "waits"), [(0, True), (119, True), (120, False)])
def test_schedules_are_waited_for_until_the_run_is_listed(
    lab: LabOnMoto, seconds: int, *, waits: bool
) -> None:
    """The schedule deletes itself as soon as the run has begun. A lab of node groups waits no longer."""
    node_pools = Lab.model_validate(
        {"name": "lab", "cluster": {"karpenter": {}}, "pools": {"gpu": {"kind": "karpenter"}}}
    )
    of_groups = lab.guard_services.lease_services
    services = replace(of_groups, capacity=replace(of_groups.capacity, lab=node_pools))
    state, now = PoolState("gpu", failsafe_at=FIRED), FIRED + timedelta(seconds=seconds)

    of_groups.let_it_fire(state, now)
    if waits:
        with pytest.raises(TryLater, match="fires at 20:10 UTC"):
            services.let_it_fire(state, now)
    else:
        services.let_it_fire(state, now)
