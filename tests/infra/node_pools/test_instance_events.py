"""The queue through which the guard hears of instances of the whole account: bounded, closed to others, and silent."""

import json
from typing import Any

import pytest

from stacks import cost
from stacks.constructs.functions import instance_events
from tests.infra.conftest import Assembly, Template
from tests.infra.test_permissions import allowed

QUEUE = "gpu-lab-instance-events"


@pytest.fixture(params=["karpenter", "auto_mode", "mixed"])
def controller(request: pytest.FixtureRequest) -> Template:
    lab: Assembly = request.getfixturevalue(request.param)
    return lab.template("gpu-lab-controller")


def through_the_queue(controller: Template) -> dict[str, dict[str, Any]]:
    """The rules that have the queue as their target."""
    [queue] = [
        name
        for name, each in controller.of_type("AWS::SQS::Queue").items()
        if each["Properties"]["QueueName"] == QUEUE
    ]
    return {
        name: each["Properties"]
        for name, each in controller.of_type("AWS::Events::Rule").items()
        if queue in json.dumps(each["Properties"]["Targets"][0]["Arn"])
    }


def test_events_of_instances_wait_for_one_sweep_and_the_timer_waits_for_nothing(controller: Template) -> None:
    named = {
        each["Name"].removeprefix("gpu-lab-").rstrip("1") for each in through_the_queue(controller).values()
    }
    [mapping] = [
        each
        for each in controller.properties("AWS::Lambda::EventSourceMapping")
        if "StartingPosition" not in each
    ]

    assert named == {"instance-states", "fleet-calls"}
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert mapping["MaximumBatchingWindowInSeconds"] == 20
    assert mapping["BatchSize"] == 1000
    assert "FunctionResponseTypes" not in mapping


def test_a_failed_batch_is_dropped_because_the_timer_sweeps_before_it_could_come_again(
    controller: Template,
) -> None:
    queue = controller.one("AWS::SQS::Queue", QueueName=QUEUE)
    guard = controller.one("AWS::Lambda::Function", FunctionName="gpu-lab-guard")

    assert queue["SqsManagedSseEnabled"]
    assert "RedrivePolicy" not in queue
    assert queue["MessageRetentionPeriod"] == 300 < queue["VisibilityTimeout"]
    assert queue["VisibilityTimeout"] >= 6 * guard["Timeout"] + instance_events.WINDOW.to_seconds()


def test_only_the_rules_may_send_and_only_encrypted(controller: Template) -> None:
    rules = set(through_the_queue(controller))
    [policy] = [
        each["PolicyDocument"]["Statement"]
        for each in controller.properties("AWS::SQS::QueuePolicy")
        if "RulesNodePoolsEvents" in json.dumps(each["Queues"])
    ]
    denied = [each for each in policy if each["Effect"] == "Deny" and each["Action"] == "sqs:SendMessage"]
    lets_in = [each for each in policy if each["Effect"] == "Allow"]

    named = {arn["Fn::GetAtt"][0] for arn in denied[0]["Condition"]["ArnNotEquals"]["aws:SourceArn"]}
    assert named == rules
    assert denied[0]["Principal"] == {"AWS": "*"}
    [together] = lets_in
    assert {arn["Fn::GetAtt"][0] for arn in together["Condition"]["ArnEquals"]["aws:SourceArn"]} == rules
    assert together["Principal"] == {"Service": "events.amazonaws.com"}
    assert any(each["Condition"] == {"Bool": {"aws:SecureTransport": "false"}} for each in policy)
    assert len(policy) <= 20


def test_the_guard_takes_from_this_queue_alone(controller: Template) -> None:
    [statement] = allowed(controller, "gpu-lab-ap-northeast-2-guard")["sqs:ReceiveMessage"]

    assert json.dumps(statement["Resource"]).count(QUEUE) == 1


def test_a_lab_of_node_groups_has_no_such_queue_and_pays_for_no_polls(assembly: Assembly) -> None:
    without = assembly.template("gpu-lab-controller")

    assert QUEUE not in json.dumps(without.document)
    assert "polls of the queue" not in {line.what for line in cost.controller(without.document)}


def test_the_polls_are_the_labs_own_and_counted(controller: Template) -> None:
    [polls] = [line for line in cost.controller(controller.document) if line.what == "polls of the queue"]

    assert polls.counted.startswith("657000 long polls")
