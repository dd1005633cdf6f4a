"""What Step Functions refuses to carry, to go on with and to catch: 256 KiB a state, 25,000 events a run."""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.workflows.test_stepfunctions import ECHO, history, machine, one, run

KIB_256 = 262_144
#: In UTF-8 it takes three bytes, as `\ud55c` in ASCII six.
HAN = "한"
GIVES = "def handler(event, context):\n    return {'text': 'x' * event['bytes']}\n"
ALL = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.failure", "Next": "B"}]


def caught(state):
    return {"A": {**state, "Catch": ALL, "End": True}, "B": {"Type": "Pass", "End": True}}


def test_a_result_of_more_than_256_kib_ends_the_run_past_every_catcher_of_states_all(aws):
    big = aws.function("big", GIVES)
    arn = machine(aws, caught({"Type": "Task", "Resource": big, "Retry": [{"ErrorEquals": ["States.ALL"]}]}))
    whole = len('{"text":""}')
    assert run(aws, arn, {"bytes": KIB_256 - whole})[0] == "SUCCEEDED"
    status, why, _ = run(aws, arn, {"bytes": KIB_256 - whole + 1})
    assert (status, why[0]) == ("FAILED", "States.DataLimitExceeded")


def test_what_a_state_carries_is_counted_in_bytes_of_utf_8(aws):
    thrice = {"one.$": "$.text", "two.$": "$.text", "three.$": "$.text"}
    arn = machine(aws, one({"Type": "Pass", "Parameters": thrice}))
    assert run(aws, arn, {"text": HAN * 29_000})[0] == "SUCCEEDED"
    status, why, _ = run(aws, arn, {"text": HAN * 30_000})
    assert (status, why[0]) == ("FAILED", "States.DataLimitExceeded")


def test_what_a_task_is_handed_is_counted_after_its_parameters(aws):
    echo = aws.function("small", "def handler(event, context):\n    return {}\n")
    task = {"Type": "Task", "Resource": echo, "Parameters": {"run.$": "$", "again.$": "$.text"}}
    arn = machine(aws, caught({**task, "ResultPath": "$.answer"}))
    status, why, _ = run(aws, arn, {"text": "x" * 140_000})
    assert (status, why[0]) == ("FAILED", "States.DataLimitExceeded")


def test_a_run_is_not_started_with_more_than_256_kib(aws):
    arn = machine(aws, one({"Type": "Pass"}))
    with pytest.raises(ClientError) as refused:
        aws.call("stepfunctions", "start_execution", stateMachineArn=arn, input=json.dumps("x" * KIB_256))
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_a_run_ends_with_its_25000th_event_and_nothing_catches_that(aws):
    aws.embedded.moto_additions.workflow_limits.history_events = 100
    echo = aws.function("echo", ECHO)
    states = {
        "A": {
            "Type": "Task",
            "Resource": echo,
            "ResultPath": "$.echo",
            "Catch": [{"ErrorEquals": ["States.Runtime"], "ResultPath": "$.failure", "Next": "C"}, *ALL],
            "Next": "B",
        },
        "B": {"Type": "Wait", "Seconds": 1, "Next": "A"},
        "C": {"Type": "Pass", "End": True},
    }
    aws.clock.hurry(True)
    status, why, described = run(aws, machine(aws, states))
    assert (status, why[0]) == ("FAILED", "States.Runtime")
    assert "maximum number of history events (100)" in why[1]
    events = history(aws, described)
    assert (len(events), events[-1]["type"]) == (100, "ExecutionFailed")


def test_the_limit_of_events_is_step_functions_own(aws):
    assert aws.embedded.moto_additions.workflow_limits.history_events == 25_000


def test_a_runtime_error_is_caught_by_no_name(aws):
    echo = aws.function("echo", ECHO)
    states = caught({"Type": "Task", "Resource": echo, "Parameters": {"x.$": "$.missing"}})
    states["A"]["Catch"] = [{"ErrorEquals": ["States.Runtime"], "Next": "B"}, *ALL]
    assert run(aws, machine(aws, states))[1][0] == "States.Runtime"


def test_a_run_that_takes_too_long_ends_without_its_catchers(aws):
    aws.clock.hurry(True)
    inner = {"StartAt": "X", "States": {"X": {"Type": "Wait", "Seconds": 100, "End": True}}}
    states = caught({"Type": "Parallel", "Branches": [inner]})
    status, why, _ = run(aws, machine(aws, states, TimeoutSeconds=10))
    assert (status, why[0]) == ("TIMED_OUT", "States.Timeout")
