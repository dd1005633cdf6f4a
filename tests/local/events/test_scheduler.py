"""Scheduler: what it refuses, what it forgets, and that it fires on virtual time in its role's name."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError

UPDATE_NODEGROUP = "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"
TO_ZERO = {
    "ClusterName": "lab",
    "NodegroupName": "lab-ng-gpu",
    "ScalingConfig": {"MinSize": 0, "DesiredSize": 0},
}
OFF = {"Mode": "OFF"}


def scheduler_role(aws, *actions, service="scheduler.amazonaws.com"):
    name = f"schedules-{len(actions)}-{service.partition('.')[0]}"
    try:
        return aws.call("iam", "get_role", RoleName=name)["Role"]["Arn"]
    except ClientError:
        arn = aws.role(name, *actions)
    trust = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }
    aws.call("iam", "update_assume_role_policy", RoleName=name, PolicyDocument=json.dumps(trust))
    return arn


def moment(aws, seconds):
    """at() for so many virtual seconds from now, whole seconds, in UTC."""
    return f"at({(aws.clock.now() + timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S')})"


def schedule(aws, name="s", *, expression=None, arn=UPDATE_NODEGROUP, given=TO_ZERO, role=None, **more):
    target = {
        "Arn": arn,
        "RoleArn": role or scheduler_role(aws, "eks:*", "lambda:*", "states:*", "sqs:SendMessage"),
    }
    if given is not None:
        target["Input"] = given if isinstance(given, str) else json.dumps(given)
    target |= more.pop("target", {})
    request = {
        "Name": name,
        "ScheduleExpression": expression or moment(aws, 3600),
        "FlexibleTimeWindow": OFF,
        "Target": target,
        **more,
    }
    return aws.call("scheduler", "create_schedule", **request)


def code_of(refusal):
    return refusal.value.response["Error"]["Code"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"expression": "at(2020-01-01T00:00:00)"}, "past"),
    ({"expression": "cron(0 20 * * * *)"}, "Invalid Schedule Expression"),
    ({"ScheduleExpressionTimezone": "Mars/Base"}, "Timezone"),
    ({"given": {"clusterName": "lab", "nodegroupName": "gpu"}}, "clusterName is not a member"),
    ({"given": {**TO_ZERO, "ScalingConfig": {"desiredSize": 0}}}, "desiredSize is not a member"),
    ({"given": {"ClusterName": "lab"}}, "nodegroupName"),
    ({"given": {**TO_ZERO, "ScalingConfig": {"DesiredSize": "0"}}}, "DesiredSize|desiredSize"),
    ({"given": "not json"}, "not JSON"),
    ({"arn": "arn:aws:scheduler:::aws-sdk:eks:updateNodegroup"}, "no action"),
    ({"arn": "arn:aws:scheduler:::aws-sdk:eks:UpdateNodegroupConfig"}, "no action"),
    ({"arn": "arn:aws:scheduler:::aws-sdk:eksx:updateNodegroupConfig"}, "no service"),
    ({"arn": "arn:aws:scheduler:::aws-sdk:eks:describeNodegroup"}, "only reads"),
    ({"target": {"DeadLetterConfig": {"Arn": "arn:aws:sns:eu-west-1:123456789012:t"}}}, "no SQS queue"),
    ({"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}}, "MaximumWindowInMinutes"),
]


def test_what_aws_refuses_is_refused(aws):
    for wrong, says in REFUSED:
        with pytest.raises(ClientError, match=says) as refusal:
            schedule(aws, **wrong)
        assert code_of(refusal) == "ValidationException", wrong
    assert aws.call("scheduler", "list_schedules")["Schedules"] == []


def test_a_role_that_does_not_trust_scheduler_is_refused(aws):
    other = scheduler_role(aws, "eks:*", service="lambda.amazonaws.com")
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume"):
        schedule(aws, role=other)
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume"):
        schedule(aws, role="arn:aws:iam::123456789012:role/nobody")


def test_a_new_role_is_not_known_for_some_seconds_where_a_test_wants_it(aws):
    aws.embedded.moto_additions.propagation.new_role_seconds = 10
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume the role"):
        schedule(aws)
    aws.clock.sleep(11)
    schedule(aws)


def test_an_update_forgets_what_it_is_not_given(aws):
    role = scheduler_role(aws, "eks:*")
    schedule(
        aws,
        role=role,
        ActionAfterCompletion="DELETE",
        Description="failsafe",
        ScheduleExpressionTimezone="Asia/Seoul",
        expression=moment(aws, 86400),
        State="DISABLED",
    )
    aws.call(
        "scheduler",
        "update_schedule",
        Name="s",
        ScheduleExpression=moment(aws, 7200),
        FlexibleTimeWindow=OFF,
        Target={"Arn": UPDATE_NODEGROUP, "RoleArn": role, "Input": json.dumps(TO_ZERO)},
    )
    known = aws.call("scheduler", "get_schedule", Name="s")
    assert "Description" not in known
    assert (known["ActionAfterCompletion"], known["State"]) == ("NONE", "ENABLED")
    assert known["ScheduleExpressionTimezone"] == "UTC"
    assert known["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}


def test_a_group_takes_its_schedules_with_it(aws):
    aws.call("scheduler", "create_schedule_group", Name="lab")
    schedule(aws, GroupName="lab")
    with pytest.raises(ClientError, match="already exists") as refusal:
        schedule(aws, GroupName="lab")
    assert code_of(refusal) == "ConflictException"
    aws.call("scheduler", "delete_schedule_group", Name="lab")
    with pytest.raises(ClientError) as refusal:
        aws.call("scheduler", "get_schedule", Name="s", GroupName="lab")
    assert code_of(refusal) == "ResourceNotFoundException"


def fired(aws, count=1):
    aws.clock.wait_until(None, lambda: len(aws.embedded.moto_additions.firings()) >= count)
    return aws.embedded.moto_additions.firings()


def test_it_starts_a_workflow_once_in_its_minute_and_then_goes(aws):
    definition = {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}
    machine = aws.call(
        "stepfunctions",
        "create_state_machine",
        name="lab-open",
        definition=json.dumps(definition),
        roleArn=aws.role("workflow"),
    )["stateMachineArn"]
    start = {"StateMachineArn": machine, "Name": "open-evening-2026-03-03", "Input": '{"a":1}'}
    schedule(
        aws,
        "open",
        arn="arn:aws:scheduler:::aws-sdk:sfn:startExecution",
        given=start,
        ActionAfterCompletion="DELETE",
    )
    aws.clock.hurry(True)
    (firing,) = fired(aws)
    assert firing.failure is None
    assert 0 <= firing.fired - firing.due < 5
    (execution,) = aws.call("stepfunctions", "list_executions", stateMachineArn=machine)["executions"]
    assert execution["name"] == "open-evening-2026-03-03"
    assert aws.call("scheduler", "list_schedules")["Schedules"] == []


def test_a_failed_call_ends_in_the_dead_letter_queue_and_the_schedule_goes_all_the_same(aws):
    url, queue = aws.queue("failsafe-dlq")
    schedule(
        aws,
        "failsafe-gpu-10",
        ActionAfterCompletion="DELETE",
        target={"DeadLetterConfig": {"Arn": queue}, "RetryPolicy": {"MaximumRetryAttempts": 3}},
    )
    aws.clock.hurry(True)
    (firing,) = fired(aws)
    assert firing.failure.code == "ResourceNotFoundException"
    message = aws.message(url)
    assert json.loads(message["Body"]) == TO_ZERO
    attributes = {key: value["StringValue"] for key, value in message["MessageAttributes"].items()}
    assert attributes["ERROR_CODE"] == "ResourceNotFoundException"
    assert attributes["SCHEDULE_ARN"].endswith("schedule/default/failsafe-gpu-10")
    assert aws.call("scheduler", "list_schedules")["Schedules"] == []


def test_its_role_must_be_allowed_the_call(aws):
    schedule(aws, role=scheduler_role(aws, "sqs:SendMessage"))
    aws.clock.hurry(True)
    assert fired(aws)[0].failure.code == "AccessDeniedException"


def test_a_function_is_called_at_every_turn_of_a_rate(aws, tmp_path):
    function = aws.function(
        "sweep", "import json\ndef handler(e, c): open(e['to'], 'a').write(e['at'] + '\\n')\n"
    )
    written = tmp_path / "sweeps"
    given = {"to": str(written), "at": "<aws.scheduler.scheduled-time>"}
    schedule(aws, arn=function, given=given, expression="rate(5 minutes)")
    aws.clock.hurry(True)
    due = [firing.due for firing in fired(aws, 3)][:3]
    aws.clock.hurry(False)
    assert [round(b - a) for a, b in pairwise(due)] == [300, 300]
    assert datetime.fromtimestamp(due[0], UTC) > aws.clock.now() - timedelta(hours=1)


def test_a_moved_schedule_fires_at_its_new_time_only(aws):
    role = scheduler_role(aws, "eks:*")
    schedule(aws, role=role, expression=moment(aws, 600))
    later = moment(aws, 1800)
    aws.call(
        "scheduler",
        "update_schedule",
        Name="s",
        ScheduleExpression=later,
        FlexibleTimeWindow=OFF,
        Target={"Arn": UPDATE_NODEGROUP, "RoleArn": role, "Input": json.dumps(TO_ZERO)},
    )
    aws.clock.hurry(True)
    (firing,) = fired(aws)
    assert datetime.fromtimestamp(firing.due, UTC).strftime("at(%Y-%m-%dT%H:%M:%S)") == later
