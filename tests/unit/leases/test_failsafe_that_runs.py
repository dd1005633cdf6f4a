"""An opening while a failsafe that has fired still runs: its state machine would end the new nodes as well."""

import json
from dataclasses import replace
from datetime import timedelta

import boto3
import pytest

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.leases.granting import admitted
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.run import command_of
from lamplighter.domain.capacity.kinds import pools_of
from lamplighter.domain.pool.pool import PoolState
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import ROLE, LabOnMoto

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
