"""Tasks that wait for their token, and events that a workflow puts.

Sources: Step Functions developer guide, "Wait for a Callback with Task Token" and "Add EventBridge events with Step
Functions"; API reference, SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat; Amazon States Language, "Errors".
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.workflows.test_stepfunctions import history, machine, one, run

PUT = "arn:aws:states:::events:putEvents"


@pytest.fixture
def bus(aws):
    """Time stands; the bus `lab` has one rule, whose queue is at `url`."""
    aws.call("events", "create_event_bus", Name="lab")
    aws.url, queue = aws.queue("q")
    pattern = '{"source": ["ci.training"]}'
    aws.call("events", "put_rule", Name="r", EventBusName="lab", EventPattern=pattern)
    aws.call("events", "put_targets", Rule="r", EventBusName="lab", Targets=[{"Id": "q", "Arn": queue}])
    aws.hold()
    return aws


def task(resource=f"{PUT}.waitForTaskToken", source="ci.training", **more):
    detail = {"pool": "gpu", "token.$": "$$.Task.Token"} if "Token" in resource else {"pool": "gpu"}
    entry = {"Source": source, "DetailType": "open", "Detail": detail, "EventBusName": "lab"}
    return {"Type": "Task", "Resource": resource, "Parameters": {"Entries": [entry]}, **more}


def start(aws, state, *, role=None):
    """The execution's ARN and the event that it put."""
    arn = machine(aws, one(state), role=role)
    started = aws.call("stepfunctions", "start_execution", stateMachineArn=arn)["executionArn"]
    return started, event(aws)


def event(aws):
    aws.clock.sleep(2)
    (message,) = aws.call("sqs", "receive_message", QueueUrl=aws.url)["Messages"]
    aws.call("sqs", "delete_message", QueueUrl=aws.url, ReceiptHandle=message["ReceiptHandle"])
    return json.loads(message["Body"])


def ended(aws, arn):
    aws.embedded.moto_additions.wait_for_execution(arn)
    return aws.call("stepfunctions", "describe_execution", executionArn=arn)


def test_events_of_a_workflow_name_its_execution_and_its_state_machine(bus):
    arn, event = start(bus, task(PUT))
    described = ended(bus, arn)
    assert event["resources"] == [arn, described["stateMachineArn"]]
    assert event["detail"] == {"pool": "gpu"}
    assert json.loads(described["output"])["Entries"] == [{"EventId": event["id"]}]


def test_an_entry_that_eventbridge_refuses_fails_the_task(bus):
    status, (error, cause), _ = run(bus, machine(bus, one(task(PUT, source="aws.training"))))
    assert (status, error) == ("FAILED", "EventBridge.FailedEntry")
    assert "NotAuthorizedForSourceException" in cause


def test_a_workflow_puts_events_with_its_own_role(bus):
    role = bus.role("m-role", "states:*")
    status, (error, cause), _ = run(bus, machine(bus, one(task(PUT)), role=role))
    assert (status, error) == ("FAILED", "EventBridge.AccessDeniedException")
    assert "assumed-role/m-role/" in cause


def test_a_task_waits_until_its_token_comes_back_with_an_output(bus):
    arn, event = start(bus, task(ResultPath="$.opened"))
    token = event["detail"]["token"]
    bus.clock.sleep(3600)
    assert bus.call("stepfunctions", "describe_execution", executionArn=arn)["status"] == "RUNNING"
    bus.call("stepfunctions", "send_task_success", taskToken=token, output='{"lease": "l-1"}')
    described = ended(bus, arn)
    assert json.loads(described["output"]) == {"opened": {"lease": "l-1"}}
    assert history(bus, described)[-3]["type"] == "TaskSucceeded"


def test_a_task_fails_with_the_error_that_comes_with_its_token(bus):
    """Each try has a token of its own."""
    retried = [{"ErrorEquals": ["LeaseRefused"], "MaxAttempts": 1, "IntervalSeconds": 1}]
    arn, first = start(bus, task(Retry=retried))
    failure = {"error": "LeaseRefused", "cause": "pool gpu is full"}
    bus.call("stepfunctions", "send_task_failure", taskToken=first["detail"]["token"], **failure)
    second = event(bus)
    assert second["detail"]["token"] != first["detail"]["token"]
    failure |= {"taskToken": second["detail"]["token"], "error": "Other"}
    bus.call("stepfunctions", "send_task_failure", **failure)
    described = ended(bus, arn)
    assert (described["status"], described["error"], described["cause"]) == (
        "FAILED",
        "Other",
        "pool gpu is full",
    )


def test_a_token_counts_once(bus):
    arn, event = start(bus, task())
    answer = {"taskToken": event["detail"]["token"], "output": "{}"}
    bus.call("stepfunctions", "send_task_success", **answer)
    with pytest.raises(ClientError) as refused:
        bus.call("stepfunctions", "send_task_success", **answer)
    assert refused.value.response["Error"] == {
        "Code": "TaskTimedOut",
        "Message": "Task Timed Out: 'Provided task does not exist anymore'",
    }
    assert ended(bus, arn)["status"] == "SUCCEEDED"


def test_a_token_that_nobody_issued_and_an_output_that_is_no_json_are_refused(bus):
    arn, event = start(bus, task())
    with pytest.raises(ClientError, match="InvalidToken"):
        bus.call("stepfunctions", "send_task_success", taskToken="made up", output="{}")
    with pytest.raises(ClientError, match="InvalidOutput"):
        bus.call("stepfunctions", "send_task_success", taskToken=event["detail"]["token"], output="no")
    bus.call("stepfunctions", "stop_execution", executionArn=arn)


def test_a_task_that_nobody_answers_times_out_and_its_token_with_it(bus):
    arn, event = start(bus, task(TimeoutSeconds=600))
    begun = bus.clock.time()
    described = ended(bus, arn)
    assert (described["status"], described["error"]) == ("FAILED", "States.Timeout")
    assert 590 <= bus.clock.time() - begun <= 601
    with pytest.raises(ClientError, match="TaskTimedOut"):
        bus.call("stepfunctions", "send_task_success", taskToken=event["detail"]["token"], output="{}")


@pytest.mark.parametrize("name", ["States.HeartbeatTimeout", "States.Timeout"])
def test_a_task_lives_as_long_as_its_heart_beats(bus, name):
    state = task(TimeoutSeconds=7200, HeartbeatSeconds=300, Catch=[{"ErrorEquals": [name], "Next": "B"}])
    states = {"A": {**state, "Next": "B"}, "B": {"Type": "Pass", "End": True}}
    arn = bus.call("stepfunctions", "start_execution", stateMachineArn=machine(bus, states))["executionArn"]
    token = event(bus)["detail"]["token"]
    for _ in range(4):
        bus.clock.sleep(250)
        bus.call("stepfunctions", "send_task_heartbeat", taskToken=token)
    begun = bus.clock.time()
    described = ended(bus, arn)
    assert described["status"] == "SUCCEEDED"
    assert json.loads(described["output"])["Error"] == "States.HeartbeatTimeout"
    assert 299 <= bus.clock.time() - begun <= 301


def test_a_token_of_a_stopped_execution_is_good_for_nothing(bus):
    arn, event = start(bus, task())
    bus.call("stepfunctions", "stop_execution", executionArn=arn)
    bus.clock.sleep(1)
    with pytest.raises(ClientError, match="TaskTimedOut"):
        bus.call("stepfunctions", "send_task_success", taskToken=event["detail"]["token"], output="{}")


def test_giving_a_token_back_needs_a_permission(bus):
    """The Service Authorization Reference gives SendTaskSuccess no resource, so a policy has to say `*`."""
    arn, event = start(bus, task())
    answer = {"taskToken": event["detail"]["token"], "output": "{}"}
    with pytest.raises(ClientError, match="not authorized to perform: states:SendTaskSuccess"):
        bus.call(
            "stepfunctions", "send_task_success", role=bus.role("outside", "states:StartExecution"), **answer
        )
    bus.call("stepfunctions", "send_task_success", role=bus.role("door", "states:SendTaskSuccess"), **answer)
    assert ended(bus, arn)["status"] == "SUCCEEDED"


def test_a_function_takes_a_token_too(bus):
    """`lambda:invoke.waitForTaskToken`: what the function returns is not the task's result."""
    bus.function("ask", "def handler(event, context): return 'not this'\n")
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": "ask", "Payload": {"token.$": "$$.Task.Token"}},
    }
    arn = machine(bus, one(state))
    started = bus.call("stepfunctions", "start_execution", stateMachineArn=arn)["executionArn"]
    bus.clock.sleep(60)
    found = bus.call("stepfunctions", "get_execution_history", executionArn=started)["events"]
    (scheduled,) = [each for each in found if each["type"] == "TaskScheduled"]
    token = json.loads(scheduled["taskScheduledEventDetails"]["parameters"])["Payload"]["token"]
    bus.call("stepfunctions", "send_task_success", taskToken=token, output='"this"')
    assert json.loads(ended(bus, started)["output"]) == "this"
