"""Rules reach their targets: by pattern, transformed, by schedule, and into the dead-letter queue."""

import json

import pytest

PATTERN = json.dumps({"source": ["lab"], "detail": {"pool": ["gpu"]}})


def rule(aws, *targets, **more):
    aws.call("events", "put_rule", Name="r", **(more or {"EventPattern": PATTERN}))
    named = [{"Id": str(number), **target} for number, target in enumerate(targets)]
    aws.call("events", "put_targets", Rule="r", Targets=named)


def put(aws, **detail):
    entry = {"Source": "lab", "DetailType": "Opened", "Detail": json.dumps(detail)}
    assert aws.call("events", "put_events", Entries=[entry])["FailedEntryCount"] == 0


def test_a_matching_event_arrives_whole_or_transformed(aws):
    whole_url, whole = aws.queue("whole")
    text_url, text = aws.queue("text")
    transformer = {
        "InputPathsMap": {"pool": "$.detail.pool"},
        "InputTemplate": '{"open": <pool>, "say": "<pool> is open"}',
    }
    rule(aws, {"Arn": whole}, {"Arn": text, "InputTransformer": transformer})
    put(aws, pool="cpu")
    put(aws, pool="gpu")
    event = json.loads(aws.message(whole_url)["Body"])
    assert (event["source"], event["detail-type"], event["detail"]) == ("lab", "Opened", {"pool": "gpu"})
    assert event["account"] == "123456789012"
    assert event["region"] == "ap-northeast-2"
    assert set(event) == {
        "version",
        "id",
        "detail-type",
        "source",
        "account",
        "time",
        "region",
        "resources",
        "detail",
    }
    assert json.loads(aws.message(text_url)["Body"]) == {"open": "gpu", "say": "gpu is open"}


@pytest.mark.once_flaky("a run was described before it had ended")
def test_a_workflow_is_started_with_the_targets_role(aws):
    definition = '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}'
    role = aws.role("starter", "states:StartExecution")
    machine = aws.call(
        "stepfunctions", "create_state_machine", name="m", definition=definition, roleArn=role
    )["stateMachineArn"]
    rule(aws, {"Arn": machine, "RoleArn": role, "Input": '{"a": 1}'})
    put(aws, pool="gpu")

    def ended():
        found = aws.call(
            "stepfunctions", "list_executions", stateMachineArn=machine, statusFilter="SUCCEEDED"
        )
        return found["executions"]

    # One that runs is not described at once.
    aws.clock.wait_until(None, lambda: bool(ended()))
    (execution,) = ended()
    described = aws.call("stepfunctions", "describe_execution", executionArn=execution["executionArn"])
    assert json.loads(described["input"]) == {"a": 1}


def test_a_rule_with_a_schedule_ticks_in_virtual_time_and_hears_no_events(aws):
    url, queue = aws.queue("ticks")
    rule(aws, {"Arn": queue}, ScheduleExpression="rate(5 minutes)")
    put(aws, pool="gpu")
    made = aws.clock.time()
    aws.clock.hurry(True)
    event = json.loads(aws.message(url)["Body"])
    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")
    assert event["resources"][0].endswith("rule/r")
    assert aws.clock.time() - made >= 299
    aws.call("events", "disable_rule", Name="r")


def test_what_cannot_be_delivered_goes_to_the_dead_letter_queue(aws):
    url, queue = aws.queue("dead")
    gone = "arn:aws:lambda:ap-northeast-2:123456789012:function:gone"
    rule(aws, {"Arn": gone, "DeadLetterConfig": {"Arn": queue}})
    put(aws, pool="gpu")
    message = aws.message(url)
    assert json.loads(message["Body"])["detail"] == {"pool": "gpu"}
    assert message["MessageAttributes"]["TARGET_ARN"]["StringValue"] == gone
