"""Workflows as the Amazon States Language means them, run over HTTP in virtual time."""

import json
import time

import pytest
from botocore.exceptions import ClientError

from local.aws.api.own_services import AwsError
from local.aws.stepfunctions.choice import holds
from local.aws.stepfunctions.definition import parsed
from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.paths import expression
from local.clock import VirtualClock
from tests.local.conftest import embedded

ECHO = "def handler(event, context):\n    return event\n"
POLL = """
import os, pathlib
class TryLater(Exception): pass
def handler(event, context):
    count = pathlib.Path(event["count"])
    tries = int(count.read_text()) if count.exists() else 0
    count.write_text(str(tries + 1))
    if tries < event["until"]:
        raise TryLater("not yet")
    return {"tries": tries}
"""


def machine(aws, states, *, start="A", name="m", role=None, **more):
    definition = {"StartAt": start, "States": states, **more}
    role = role or aws.role(f"{name}-role", "lambda:InvokeFunction", "states:*", "eks:*", "sqs:*", "events:*")
    created = aws.call(
        "stepfunctions", "create_state_machine", name=name, definition=json.dumps(definition), roleArn=role
    )
    return created["stateMachineArn"]


def run(aws, arn, data=None, **more):
    """(status, output or (error, cause), description)"""
    started = aws.call(
        "stepfunctions", "start_execution", stateMachineArn=arn, input=json.dumps(data or {}), **more
    )
    aws.embedded.moto_additions.wait_for_execution(started["executionArn"])
    described = aws.call("stepfunctions", "describe_execution", executionArn=started["executionArn"])
    if described["status"] == "SUCCEEDED":
        return "SUCCEEDED", json.loads(described["output"]), described
    return described["status"], (described.get("error"), described.get("cause")), described


def one(state):
    return {"A": {**state, "End": True}}


def history(aws, described):
    return aws.call("stepfunctions", "get_execution_history", executionArn=described["executionArn"])[
        "events"
    ]


def test_a_task_gets_its_parameters_and_puts_its_result_where_it_belongs(aws):
    echo = aws.function("echo", ECHO)
    arn = machine(
        aws,
        one(
            {
                "Type": "Task",
                "Resource": echo,
                "Parameters": {"step": "Admit", "run.$": "$", "id.$": "$$.Execution.Name"},
                "ResultPath": "$.results.Admit",
            }
        ),
    )
    status, output, described = run(aws, arn, {"results": {"Earlier": 1}}, name="lease-1")
    assert status == "SUCCEEDED"
    assert output["results"] == {
        "Earlier": 1,
        "Admit": {"step": "Admit", "run": {"results": {"Earlier": 1}}, "id": "lease-1"},
    }
    assert [event["type"] for event in history(aws, described)] == [
        "ExecutionStarted",
        "TaskStateEntered",
        "LambdaFunctionScheduled",
        "LambdaFunctionStarted",
        "LambdaFunctionSucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ]


def test_lambda_invoke_wraps_the_answer_as_the_service_does(aws):
    echo = aws.function("echo", ECHO)
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": echo, "Payload.$": "$"},
        "OutputPath": "$.Payload",
    }
    assert run(aws, machine(aws, one(task)), {"a": 1})[:2] == ("SUCCEEDED", {"a": 1})


def test_a_poll_is_one_transition_a_try(aws, tmp_path):
    poll = aws.function("poll", POLL)
    task = {
        "Type": "Task",
        "Resource": poll,
        "Retry": [{"ErrorEquals": ["TryLater"], "IntervalSeconds": 10, "MaxAttempts": 5, "BackoffRate": 1.0}],
    }
    arn = machine(aws, one(task))
    aws.clock.hurry(True)
    begun = aws.clock.time()
    status, output, described = run(aws, arn, {"count": str(tmp_path / "n"), "until": 3})
    assert (status, output) == ("SUCCEEDED", {"tries": 3})
    assert aws.clock.time() - begun >= 30
    assert aws.embedded.moto_additions.transitions()[described["executionArn"]] == 4


def test_an_error_that_nobody_retries_is_caught_with_its_name_and_cause(aws):
    bad = aws.function(
        "bad", "class Refused(Exception): pass\ndef handler(e, c): raise Refused('no budget')\n"
    )
    states = {
        "A": {
            "Type": "Task",
            "Resource": bad,
            "Retry": [{"ErrorEquals": ["TryLater"]}],
            "Catch": [{"ErrorEquals": ["Refused"], "ResultPath": "$.failure", "Next": "B"}],
            "End": True,
        },
        "B": {"Type": "Pass", "End": True},
    }
    status, output, _ = run(aws, machine(aws, states), {"kept": True})
    assert status == "SUCCEEDED"
    assert output["kept"] is True
    assert output["failure"]["Error"] == "Refused"
    assert json.loads(output["failure"]["Cause"])["errorMessage"] == "no budget"


@pytest.mark.parametrize(
    ("rule", "data", "chosen"),
    [
        ({"Variable": "$.a", "NumericGreaterThan": 1}, {"a": 2}, True),
        ({"Variable": "$.a", "NumericGreaterThan": 1}, {"a": "2"}, False),
        ({"Variable": "$.a", "StringEquals": "granted"}, {"a": "granted"}, True),
        ({"Variable": "$.a", "BooleanEquals": True}, {"a": True}, True),
        ({"Variable": "$.a", "IsPresent": True}, {}, False),
        ({"Variable": "$.a", "IsNull": True}, {"a": None}, True),
        ({"Not": {"Variable": "$.a", "IsNull": True}}, {"a": 1}, True),
        ({"Variable": "$.a", "StringMatches": "gpu-*"}, {"a": "gpu-1"}, True),
        (
            {"Variable": "$.a", "TimestampLessThanPath": "$.b"},
            {"a": "2026-03-01T00:00:00Z", "b": "2026-03-01T10:00:00+09:00"},
            True,
        ),
        (
            {"And": [{"Variable": "$.a", "IsPresent": True}, {"Variable": "$.a", "IsString": True}]},
            {"a": 1},
            False,
        ),
    ],
)
def test_choices(rule, data, chosen):
    assert holds(rule, data, {}) is chosen


def test_what_nobody_catches_ends_the_execution_with_its_error(aws):
    absent = {"Variable": "$.a", "BooleanEquals": True, "Next": "B"}
    choice = {"Type": "Choice", "Choices": [absent], "Default": "B"}
    ends: list[tuple[dict, dict, str, str]] = [
        (one({"Type": "Fail", "Error": "Refused", "Cause": "over budget"}), {}, "FAILED", "Refused"),
        ({"A": choice, "B": {"Type": "Succeed"}}, {}, "FAILED", "States.Runtime"),
        (one({"Type": "Pass", "Parameters": {"x.$": "$.nodes"}}), {}, "FAILED", "States.Runtime"),
        (
            one({"Type": "Task", "Resource": aws.function("echo", ECHO)}),
            {"role": aws.role("may-nothing")},
            "FAILED",
            "Lambda.AccessDeniedException",
        ),
        (one({"Type": "Wait", "Seconds": 100}), {"TimeoutSeconds": 10}, "TIMED_OUT", "States.Timeout"),
    ]
    aws.clock.hurry(True)
    for number, (states, more, status, error) in enumerate(ends):
        ended, why, _ = run(aws, machine(aws, states, name=f"m{number}", **more))
        assert (ended, why[0]) == (status, error), states


def test_waits_are_virtual(aws):
    states = {
        "A": {"Type": "Wait", "SecondsPath": "$.pause", "Next": "B"},
        "B": {"Type": "Wait", "TimestampPath": "$.until", "End": True},
    }
    aws.clock.hurry(True)
    begun = aws.clock.now()
    until = begun.replace(microsecond=0, year=begun.year + 1)
    text = until.isoformat().replace("+00:00", "Z")
    assert run(aws, machine(aws, states), {"pause": 3600, "until": text})[0] == "SUCCEEDED"
    assert aws.clock.now() >= until


def test_parallel_gives_the_results_in_order_and_the_first_failure_ends_it(aws):
    def branch(state):
        return {"StartAt": "X", "States": {"X": {**state, "End": True}}}

    both = {
        "Type": "Parallel",
        "Branches": [branch({"Type": "Wait", "Seconds": 5}), branch({"Type": "Pass", "Result": 2})],
    }
    aws.clock.hurry(True)
    assert run(aws, machine(aws, one(both), name="both"), {"a": 1})[1] == [{"a": 1}, 2]
    fail = {"StartAt": "X", "States": {"X": {"Type": "Fail", "Error": "Broken"}}}
    one_fails = {
        "Type": "Parallel",
        "Branches": [branch({"Type": "Wait", "Seconds": 10**9}), fail],
        "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}],
    }
    states = {"A": {**one_fails, "End": True}, "B": {"Type": "Pass", "End": True}}
    assert run(aws, machine(aws, states, name="fails"), {})[1]["Error"] == "Broken"


def test_a_map_runs_its_items_with_their_selector(aws):
    state = {
        "Type": "Map",
        "ItemsPath": "$.pools",
        "MaxConcurrency": 2,
        "ItemSelector": {"pool.$": "$$.Map.Item.Value", "n.$": "$$.Map.Item.Index", "lab.$": "$.lab"},
        "ItemProcessor": {"StartAt": "X", "States": {"X": {"Type": "Pass", "End": True}}},
        "ResultPath": "$.closed",
    }
    output = run(aws, machine(aws, one(state)), {"lab": "l", "pools": ["a", "b", "c"]})[1]
    assert output["closed"] == [{"pool": p, "n": n, "lab": "l"} for n, p in enumerate("abc")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("States.Format('close-{}-{}', $.pool, $.n)", "close-gpu-2"),
        (r"States.Format('\{\} \'{}\'', $.pool)", "{} 'gpu'"),
        ("States.JsonToString($.nodes)", '{"a":[1,2]}'),
        ("States.StringToJson('{\"a\": [1]}')", {"a": [1]}),
        ("States.ArrayLength(States.Array(1, 'two', null, true))", 4),
        ("States.ArrayGetItem($.nodes.a, States.MathAdd($.n, -1))", 2),
        ("States.Base64Decode(States.Base64Encode($.pool))", "gpu"),
        ("States.JsonMerge($.nodes, States.StringToJson('{\"b\":1}'), false)", {"a": [1, 2], "b": 1}),
        ("States.ArrayContains($.nodes.a, 2)", True),
        ("States.StringSplit('a,b,,c', ',')", ["a", "b", "c"]),
    ],
)
def test_intrinsic_functions(text, value):
    assert expression(text, {"pool": "gpu", "n": 2, "nodes": {"a": [1, 2]}}, {}) == value


def test_an_intrinsic_function_that_fails_says_so():
    with pytest.raises(StatesError, match="IntrinsicFailure"):
        expression("States.ArrayGetItem($.a, 3)", {"a": []}, {})


def test_wildcards_give_lists(aws):
    found = machine(aws, one({"Type": "Pass", "Parameters": {"x.$": "$.nodes[*].name"}}))
    assert run(aws, found, {"nodes": [{"name": "a"}, {"name": "b"}]})[1] == {"x": ["a", "b"]}
    assert run(aws, found, {"nodes": []})[1] == {"x": []}


def test_an_aws_call_is_written_in_pascal_case_and_its_errors_carry_the_service(aws):
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::aws-sdk:eks:describeNodegroup",
        "Parameters": {"ClusterName": "none", "NodegroupName": "gpu"},
    }
    status, why, _ = run(aws, machine(aws, one(task)))
    assert (status, why[0]) == ("FAILED", "Eks.ResourceNotFoundException")
    listed = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:listStateMachines", "Parameters": {}}
    output = run(aws, machine(aws, one(listed), name="list"))[1]
    assert {machine["Name"] for machine in output["StateMachines"]} == {"m", "list"}
    assert output["StateMachines"][0]["CreationDate"].endswith("Z")


def test_one_workflow_starts_another_and_may_wait_for_it(aws):
    inner = machine(aws, one({"Type": "Pass", "Parameters": {"twice.$": "$.n"}}), name="inner")
    start = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": {"StateMachineArn": inner, "Input": {"n.$": "$.n"}},
    }
    aws.clock.hurry(True)
    output = run(aws, machine(aws, one(start), name="outer"), {"n": 2})[1]
    assert (output["Status"], output["Output"]) == ("SUCCEEDED", {"twice": 2})


def test_a_task_that_takes_too_long_times_out(aws):
    slow = aws.function("slow", "import time\ndef handler(event, context): time.sleep(3)\n")
    task = {
        "Type": "Task",
        "Resource": slow,
        "TimeoutSeconds": 1,
        "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "B"}],
    }
    states = {"A": {**task, "End": True}, "B": {"Type": "Pass", "Result": "late", "End": True}}
    assert run(aws, machine(aws, states))[1] == "late"


class OnASlowMachine(VirtualClock):
    """Whoever asks for an instant is slow to ask for the next."""

    def at(self, epoch, work, name=""):
        appointment = super().at(epoch, work, name)
        time.sleep(0.05)
        return appointment


@pytest.mark.once_flaky("time moved between two requests of one thread")
def test_a_time_limit_is_not_what_a_clock_in_a_hurry_jumps_to_first(tmp_path):
    with embedded(tmp_path, OnASlowMachine(tmp_path / "clock")) as slow:
        slow.clock.hurry(True)
        arn = machine(slow, one({"Type": "Wait", "Seconds": 60}), TimeoutSeconds=90)
        status, _, _ = run(slow, arn)

    assert status == "SUCCEEDED"


def test_an_execution_can_be_stopped_in_its_wait(aws):
    arn = machine(aws, one({"Type": "Wait", "Seconds": 10**8}))
    started = aws.call("stepfunctions", "start_execution", stateMachineArn=arn)
    named = {"executionArn": started["executionArn"]}
    aws.call("stepfunctions", "stop_execution", error="Enough", cause="by hand", **named)
    described = aws.call("stepfunctions", "describe_execution", **named)
    assert (described["status"], described["error"], described["cause"]) == ("ABORTED", "Enough", "by hand")


def test_a_name_is_used_once(aws):
    arn = machine(aws, one({"Type": "Wait", "Seconds": 10**8}))
    start = {"stateMachineArn": arn, "name": "open-evening-2026-03-03"}
    first = aws.call("stepfunctions", "start_execution", input="{}", **start)
    again = aws.call("stepfunctions", "start_execution", input="{ }", **start)
    assert again["executionArn"] == first["executionArn"]
    with pytest.raises(ClientError, match="Execution Already Exists") as other:
        aws.call("stepfunctions", "start_execution", input='{"other": 1}', **start)
    assert other.value.response["Error"]["Code"] == "ExecutionAlreadyExists"
    aws.call("stepfunctions", "stop_execution", executionArn=first["executionArn"])
    with pytest.raises(ClientError, match="Execution Already Exists"):
        aws.call("stepfunctions", "start_execution", input="{}", **start)


def test_an_execution_that_has_just_begun_is_not_described_yet(aws):
    """https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html"""
    aws.hold()
    arn = machine(aws, one({"Type": "Wait", "Seconds": 10**8}))
    named = {
        "executionArn": aws.call("stepfunctions", "start_execution", stateMachineArn=arn)["executionArn"]
    }
    with pytest.raises(ClientError, match="Execution Does Not Exist") as unseen:
        aws.call("stepfunctions", "describe_execution", **named)
    assert unseen.value.response["Error"]["Code"] == "ExecutionDoesNotExist"
    aws.clock.sleep(1)
    assert aws.call("stepfunctions", "describe_execution", **named)["status"] == "RUNNING"


def test_many_executions_at_once_do_not_mix(aws):
    aws.runtime.concurrency = 12
    echo = aws.function("echo", ECHO)
    arn = machine(aws, one({"Type": "Task", "Resource": echo}))
    started = [
        aws.call("stepfunctions", "start_execution", stateMachineArn=arn, input=json.dumps({"n": n}))
        for n in range(12)
    ]
    for number, execution in enumerate(started):
        aws.embedded.moto_additions.wait_for_execution(execution["executionArn"])
        described = aws.call("stepfunctions", "describe_execution", executionArn=execution["executionArn"])
        assert described["status"] == "SUCCEEDED", described
        assert json.loads(described["output"]) == {"n": number}


@pytest.mark.parametrize(
    ("definition", "problem"),
    [
        ("{", "INVALID_JSON"),
        ('{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}', "Missing 'Next' target: B"),
        ('{"StartAt": "A", "States": {"A": {"Type": "Pass"}}}', "Exactly one of Next and End"),
        ('{"StartAt": "A", "States": {"A": {"Type": "Sleep", "End": true}}}', "Type must be one of"),
    ],
)
def test_a_bad_definition_is_refused(definition, problem):
    with pytest.raises(AwsError, match=problem) as refusal:
        parsed(definition)
    assert refusal.value.code == "InvalidDefinition"


def test_each_change_of_an_executions_status_is_an_event_on_the_default_bus(aws):
    arn = machine(aws, {"A": {"Type": "Fail", "Error": "Leaked", "Cause": "an instance is left"}})
    url, queue = aws.queue("statuses")
    pattern = {"source": ["aws.states"], "detail": {"stateMachineArn": [arn]}}
    aws.call("events", "put_rule", Name="statuses", EventPattern=json.dumps(pattern))
    aws.call("events", "put_targets", Rule="statuses", Targets=[{"Id": "1", "Arn": queue}])

    _, _, described = run(aws, arn, {"pool": "gpu"})

    begun, failed = (json.loads(aws.message(url)["Body"]) for _ in range(2))
    assert {event["detail-type"] for event in (begun, failed)} == {"Step Functions Execution Status Change"}
    assert failed["resources"] == [described["executionArn"]]
    assert (begun["detail"]["status"], begun["detail"]["stopDate"]) == ("RUNNING", None)
    assert json.loads(begun["detail"]["input"]) == {"pool": "gpu"}
    detail = failed["detail"]
    assert (detail["status"], detail["error"], detail["cause"]) == ("FAILED", "Leaked", "an instance is left")
    assert detail["stopDate"] == int(described["stopDate"].timestamp() * 1000)
