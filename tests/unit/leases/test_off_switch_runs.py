"""The failsafe of NodePools is a run that goes on for minutes: no lease opens until it is over."""

import json
from collections.abc import Callable
from dataclasses import replace

import boto3
import pytest
from botocore.exceptions import ClientError

from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.leases.granting import admit
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.pool.pool import PoolState
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from tests.unit import aws_calls
from tests.unit.lab_on_moto import EIGHT, LabOnMoto
from tests.unit.leases.test_leases import MINUTE, asks

POOLS = {"gpu": {"kind": "karpenter"}, "big": {"kind": "karpenter"}}
FIRED = EIGHT + 10 * MINUTE


@pytest.fixture
def lease_services(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> LeaseServices:
    """Of a lab with two NodePools. Their machine is there, and nobody has started it."""
    sfn = boto3.client("stepfunctions")
    made = sfn.create_state_machine(
        name="lab-failsafe", definition="{}", roleArn="arn:aws:iam::123456789012:role/r"
    )
    monkeypatch.setenv("FAILSAFE_MACHINE_ARN", made["stateMachineArn"])
    node_pools = Lab.model_validate({"name": "lab", "cluster": {"karpenter": {}}, "pools": POOLS})
    capacities = {KARPENTER.code: NodePoolCapacity(node_pools, KARPENTER)}
    capacity = CapacityServices(node_pools, lab.capacity.ledger, capacities)
    return replace(lab.guard_services.lease_services, capacity=capacity)


@pytest.fixture
def start(lease_services: LeaseServices) -> Callable[..., str]:
    """Starts the machine, as Scheduler or a person does."""
    sfn = boto3.client("stepfunctions")
    [machine] = [
        each["stateMachineArn"]
        for each in sfn.list_state_machines()["stateMachines"]
        if each["name"] == "lab-failsafe"
    ]

    def started(pool: str = "gpu") -> str:
        given = json.dumps({"pool": pool, "rail": "ec2"})
        return sfn.start_execution(stateMachineArn=machine, input=given)["executionArn"]

    return started


def test_no_lease_opens_while_a_run_may_take_its_nodes(
    lab: LabOnMoto, lease_services: LeaseServices, start: Callable[..., str]
) -> None:
    start()

    with pytest.raises(TryLater, match="the failsafe of pool gpu has been bringing it to zero since"):
        admit({"command": asks(lab), "results": {}}, lease_services)

    assert lab.capacity.ledger.leases("gpu") == []


def test_a_run_that_is_over_and_one_of_another_pool_hold_nothing_up(
    lease_services: LeaseServices, start: Callable[..., str]
) -> None:
    boto3.client("stepfunctions").stop_execution(executionArn=start())
    start("big")

    lease_services.let_it_end("gpu")


def test_a_run_whose_pool_is_not_told_yet_is_one_of_any(
    lease_services: LeaseServices, start: Callable[..., str]
) -> None:
    """DescribeExecution is eventually consistent, and may not know what is listed already."""
    start("big")

    def unknown(_service: str, operation: str, _given: object) -> None:
        if operation == "DescribeExecution":
            raise ClientError({"Error": {"Code": "ExecutionDoesNotExist"}}, operation)

    with aws_calls.heard(unknown), pytest.raises(TryLater, match="pool gpu"):
        lease_services.let_it_end("gpu")


def test_nothing_opens_without_the_answer_or_without_the_machine(
    lease_services: LeaseServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILSAFE_MACHINE_ARN", "arn:aws:states:ap-northeast-2:123456789012:stateMachine:gone")

    with pytest.raises(OutsideFailed, match="states:ListExecutions"):
        lease_services.let_it_end("gpu")


@pytest.mark.parametrize(("seconds", "waits"), [(0, True), (119, True), (120, False)])
def test_a_schedule_that_has_fired_is_waited_for_until_its_run_is_listed(
    lab: LabOnMoto, lease_services: LeaseServices, seconds: int, *, waits: bool
) -> None:
    """The schedule deletes itself as soon as the run has begun. A lab of node groups waits no longer."""
    lab.at(10 + seconds / 60)
    state = PoolState("gpu", failsafe_at=FIRED)

    if waits:
        with pytest.raises(TryLater, match="fires at 20:10 UTC"):
            lease_services.let_it_fire(state, FIRED + seconds * MINUTE / 60)
    else:
        lease_services.let_it_fire(state, FIRED + seconds * MINUTE / 60)
    lab.guard_services.lease_services.let_it_fire(state, FIRED + seconds * MINUTE / 60)
