"""The lab's bus: there only where it is asked for, narrow, bounded, and nothing that fails is lost silently."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from lamplighter.domain.events import cursor
from lamplighter.domain.events.lab_event import KINDS
from local.aws.authorization.judge import Caller, denial
from local.aws.authorization.requests import Ask
from local.aws.authorization.statements import Policy
from tests.infra.conftest import DEFAULT, Assembly, Resource, Synthesis, Template
from tests.infra.filled import ACCOUNT, filled
from tests.infra.test_permissions import allowed, listed

CI = "111122223333"
EVENTS = {
    "allow": {
        "training": {
            "source": "ci.training",
            "principals": [f"arn:aws:iam::{CI}:role/ci"],
            "pools": ["gpu"],
            "max_nodes": 2,
        },
        "jobs": {
            "source": "night.jobs",
            "principals": [f"arn:aws:iam::{ACCOUNT}:user/jobs"],
            "may": ["open", "close"],
        },
    }
}
WITHOUT_SLACK = {"name": "gpu-lab", "notify": {"email": "oncall@example.com"}, "events": EVENTS}
WITHOUT_EVENTS = {key: value for key, value in DEFAULT.items() if key != "events"}
FUNCTIONS = ("events", "lifecycle")


@pytest.fixture(scope="module")
def lab(synthesis: Synthesis) -> Assembly:
    """A lab with a bus and without Slack, under cdk-nag."""
    return synthesis(WITHOUT_SLACK, True)


@pytest.fixture(scope="module")
def stack(lab: Assembly) -> Template:
    return lab.template("gpu-lab-controller").part("Events")


@pytest.fixture(scope="module")
def without(synthesis: Synthesis) -> Assembly:
    """The default lab without a bus."""
    return synthesis(WITHOUT_EVENTS, False)


def may(stack: Template, function: str) -> dict[str, list[Resource]]:
    return allowed(stack, f"gpu-lab-ap-northeast-2-{function}")


def named(value: object, *names: str) -> bool:
    """Whether an ARN or a reference names all of these."""
    return all(name in json.dumps(value) for name in names)


# --- a lab without the key -----------------------------------------------------------------------


def test_a_lab_without_the_key_has_no_bus_and_does_not_know_of_one(without: Assembly) -> None:
    for name in without.stacks:
        written = json.dumps(without.template(name).document)
        for word in ("lifecycle", "events:PutEvents", "EVENT_BUS", "event-requests"):
            assert word not in written


def test_with_the_key_the_rest_of_the_lab_stays_as_it_is(assembly: Assembly, without: Assembly) -> None:
    for name in without.stacks:
        assert _kinds(assembly.template(name)) == _kinds(without.template(name)), name


def _kinds(template: Template) -> list[tuple[str, str]]:
    """Of all but the bus."""
    return sorted((n, found["Type"]) for n, found in template.resources.items() if not n.startswith("Events"))


# --- what other programs say ---------------------------------------------------------------------


def test_cdk_nag_finds_nothing_in_a_lab_without_slack_either(lab: Assembly) -> None:
    assert lab.violations() == []


def test_whoever_puts_events_finds_the_bus(stack: Template) -> None:
    assert stack.one("AWS::Events::EventBus")["Name"] == stack.outputs["EventBusName"] == "gpu-lab"


# --- the bus and its policy ----------------------------------------------------------------------


def policies(stack: Template) -> dict[str, Resource]:
    """The statements of the bus's policy by their logical ids."""
    return {name: each["Properties"] for name, each in stack.of_type("AWS::Events::EventBusPolicy").items()}


def test_the_statements_come_one_after_the_other_and_the_rule_after_all(stack: Template) -> None:
    """EventBridge refuses two changes of a policy at the same time. Nothing is let in before others are kept out."""
    order = sorted(policies(stack), key=lambda name: len(stack.needs(name) & policies(stack).keys()))
    for number, name in enumerate(order):
        assert stack.needs(name) & policies(stack).keys() == set(order[:number])
    effects = [policies(stack)[name]["Statement"]["Effect"] for name in order]
    assert effects == sorted(effects, key=["Deny", "Allow"].index)
    assert policies(stack)[order[effects.count("Deny") - 1]]["StatementId"].startswith("KnownSources")
    [(rule, properties)] = [
        (name, each["Properties"])
        for name, each in stack.of_type("AWS::Events::Rule").items()
        if "EventPattern" in each["Properties"]
    ]
    assert policies(stack).keys() <= stack.needs(rule)
    assert properties["EventPattern"] == {
        "source": ["ci.training", "night.jobs"],
        "detail-type": ["open", "extend", "close"],
    }


def test_the_deployed_policy_lets_in_whom_the_lab_names_and_nobody_else(stack: Template) -> None:
    document = {"Statement": [filled(each["Statement"]) for each in policies(stack).values()]}
    bus = f"arn:aws:events:ap-northeast-2:{ACCOUNT}:event-bus/gpu-lab"
    state: Any = SimpleNamespace(
        account=ACCOUNT, region="ap-northeast-2", now=lambda: 0.0, policy=lambda _: document
    )

    def lets(arn: str, source: str, kind: str, own: Policy) -> bool:
        said = {"events:source": (source,), "events:detail-type": (kind,)}
        caller = Caller(arn, role=arn if ":role/" in arn else "", policies=(own,))
        return denial(caller, Ask("events:PutEvents", (bus,), said), state) is None

    all_of_it = {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}
    anything = Policy("anything", json.dumps({"Statement": all_of_it}))
    assert lets(f"arn:aws:iam::{CI}:role/ci", "ci.training", "open", anything)
    assert not lets(f"arn:aws:iam::{CI}:role/ci", "night.jobs", "open", anything)
    assert not lets(f"arn:aws:iam::{ACCOUNT}:user/jobs", "night.jobs", "extend", anything)
    for source in ("ci.training", "night.jobs", "lamplighter.gpu-lab", "any.other"):
        assert not lets(f"arn:aws:iam::{ACCOUNT}:role/admin", source, "open", anything)
    for function in FUNCTIONS:
        role = f"arn:aws:iam::{ACCOUNT}:role/gpu-lab-ap-northeast-2-{function}"
        [statement] = may(stack, function)["events:PutEvents"]
        own = Policy(function, json.dumps({"Statement": filled(statement)}))
        assert all(lets(role, "lamplighter.gpu-lab", kind.TYPE, own) for kind in KINDS)
        assert not lets(role, "ci.training", "open", own)


# --- requests ------------------------------------------------------------------------------------


def queue(stack: Template, name: str) -> Resource:
    return stack.one("AWS::SQS::Queue", QueueName=f"gpu-lab-{name}")


def test_requests_wait_in_a_queue_and_what_fails_for_good_is_kept(stack: Template) -> None:
    requests, dead = queue(stack, "event-requests"), queue(stack, "dead-events")

    assert requests["MessageRetentionPeriod"] == 24 * 3600
    assert requests["RedrivePolicy"]["maxReceiveCount"] == 5
    assert named(requests["RedrivePolicy"]["deadLetterTargetArn"], "DeadLetters")
    assert dead["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert all(each["SqsManagedSseEnabled"] for each in (requests, dead))


def test_only_two_requests_run_at_once_and_each_fails_alone(stack: Template) -> None:
    function = stack.one("AWS::Lambda::Function", FunctionName="gpu-lab-events")
    [mapping] = [
        each
        for each in stack.properties("AWS::Lambda::EventSourceMapping")
        if named(each["EventSourceArn"], "Requests")
    ]

    # A run that dies takes no other request with it.
    assert mapping["BatchSize"] == 1
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": 2}
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert function["Handler"] == "handlers.events.handler"
    # https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    assert queue(stack, "event-requests")["VisibilityTimeout"] >= 6 * function["Timeout"]


def test_only_the_rule_may_put_requests_into_the_queue(stack: Template) -> None:
    """Who may send to every queue of the account could put there an event with any source."""
    rules = stack.of_type("AWS::Events::Rule")
    [rule] = [name for name, each in rules.items() if "EventPattern" in each["Properties"]]
    [policy] = [
        each["PolicyDocument"]["Statement"]
        for each in stack.properties("AWS::SQS::QueuePolicy")
        if named(each["Queues"], "Requests")
    ]
    denied = [each for each in policy if each["Effect"] == "Deny" and each["Action"] == "sqs:SendMessage"]
    allows = [each for each in policy if each["Effect"] == "Allow"]

    assert [each["Principal"] for each in denied] == [{"AWS": "*"}]
    assert named(denied[0]["Condition"]["ArnNotEquals"]["aws:SourceArn"], rule)
    assert denied[0]["Condition"]["StringNotEquals"] == {"aws:PrincipalTag/lamplighter:redrive": "gpu-lab"}
    assert [each["Principal"] for each in allows] == [{"Service": "events.amazonaws.com"}]
    assert named(allows[0]["Condition"]["ArnEquals"]["aws:SourceArn"], rule)
    assert any(each["Condition"] == {"Bool": {"aws:SecureTransport": "false"}} for each in policy)


def test_an_event_that_is_not_delivered_ends_in_the_dead_letters(stack: Template) -> None:
    rules = stack.properties("AWS::Events::Rule")

    assert len(rules) == 2
    for rule in rules:
        [target] = rule["Targets"]
        assert named(target["DeadLetterConfig"]["Arn"], "DeadLetters")
        assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= 3600


def test_people_are_paged_where_anything_failed_for_good(stack: Template) -> None:
    alarm = stack.one("AWS::CloudWatch::Alarm")

    assert alarm["AlarmName"] == "gpu-lab-dead-events"
    assert (alarm["MetricName"], alarm["Threshold"]) == ("ApproximateNumberOfMessagesVisible", 1)
    assert named(alarm["Dimensions"], "DeadLetters")
    assert named(alarm["AlarmActions"], "ChannelsPages")


# --- what the functions may ----------------------------------------------------------------------


def test_the_functions_write_what_is_theirs_in_the_ledger_and_nothing_else(stack: Template) -> None:
    for function in FUNCTIONS:
        found = may(stack, function)
        for action in ("dynamodb:PutItem", "dynamodb:DeleteItem"):
            [statement] = found[action]
            assert statement["Condition"] == {
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["EVENT#*"]}
            }
        writes = {action for action in found if action.startswith("dynamodb:") and _writes(action)}
        assert writes == {"dynamodb:PutItem", "dynamodb:DeleteItem"}


def _writes(action: str) -> bool:
    return any(word in action for word in ("Put", "Update", "Delete", "Write", "Create", "Transact"))


def test_the_functions_put_the_labs_own_events_only(stack: Template) -> None:
    for function in FUNCTIONS:
        [statement] = may(stack, function)["events:PutEvents"]
        assert statement["Condition"] == {
            "ForAllValues:StringEquals": {"events:source": "lamplighter.gpu-lab"},
            "Null": {"events:source": "false"},
        }
        assert named(statement["Resource"], "event-bus/gpu-lab")


def test_who_receives_starts_three_workflows_and_who_tells_starts_nothing(stack: Template) -> None:
    [starting] = may(stack, "events")["states:StartExecution"]
    arns = sorted(json.dumps(arn).split("gpu-lab-")[-1].split('"')[0] for arn in listed(starting["Resource"]))

    assert arns == ["close", "extend", "open"]
    assert "states:StartExecution" not in may(stack, "lifecycle")
    [invoking] = may(stack, "events")["lambda:InvokeFunction"]
    assert named(invoking["Resource"], "gpu-lab-lifecycle")
    assert "lambda:InvokeFunction" not in may(stack, "lifecycle")


def test_the_functions_touch_nothing_that_runs(stack: Template) -> None:
    kept = {"dynamodb", "events", "lambda", "logs", "sqs", "states", "xray"}
    for function in FUNCTIONS:
        assert {action.partition(":")[0] for action in may(stack, function)} <= kept


# --- telling -------------------------------------------------------------------------------------


def streams(template: Template) -> list[Resource]:
    """The mappings of the ledger's stream."""
    return [
        each for each in template.properties("AWS::Lambda::EventSourceMapping") if "StartingPosition" in each
    ]


def test_the_ledgers_stream_wakes_who_tells_for_decisions_and_the_trail(stack: Template) -> None:
    [mapping] = streams(stack)

    assert named(mapping["FunctionName"], "Lifecycle")
    assert mapping["MaximumRetryAttempts"] == 5
    assert named(mapping["DestinationConfig"], "DeadLetters")
    [pattern] = [json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]]
    keys = pattern["dynamodb"]["Keys"]
    assert keys["pk"]["S"] == [{"prefix": "POOL#"}]
    assert keys["sk"]["S"] == [{"prefix": "AUDIT#"}, {"prefix": "COMMAND#"}]


def test_who_tells_is_woken_every_five_minutes_as_well(stack: Template) -> None:
    [rule] = [each for each in stack.properties("AWS::Events::Rule") if "ScheduleExpression" in each]
    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert named(rule["Targets"][0]["Arn"], "Lifecycle")
    assert cursor.OVERLAP.total_seconds() >= 2 * 300


def test_with_slack_the_board_wakes_who_tells_since_a_stream_has_two_readers(assembly: Assembly) -> None:
    everybody = [assembly.template(name) for name in assembly.stacks]
    readers = [each for template in everybody for each in streams(template)]
    controller = assembly.template("gpu-lab-controller")
    slack = controller.part("Slack")
    board = slack.one("AWS::Lambda::Function", FunctionName="gpu-lab-board")

    assert len(readers) == 2
    assert streams(controller.part("Events")) == []
    assert named(board["Environment"]["Variables"]["LIFECYCLE_FUNCTION_ARN"], "gpu-lab-lifecycle")
    [invoking] = allowed(slack, "gpu-lab-ap-northeast-2-board")["lambda:InvokeFunction"]
    assert named(invoking["Resource"], "gpu-lab-lifecycle")


def test_without_slack_the_stream_has_two_readers_as_well(lab: Assembly) -> None:
    assert len([each for name in lab.stacks for each in streams(lab.template(name))]) == 2


def test_the_board_hears_of_all_that_is_told(assembly: Assembly) -> None:
    [mapping] = streams(assembly.template("gpu-lab-controller").part("Slack"))
    patterns = [
        json.loads(each["Pattern"])["dynamodb"]["Keys"] for each in mapping["FilterCriteria"]["Filters"]
    ]
    of_pools = [keys for keys in patterns if keys["pk"]["S"] == [{"prefix": "POOL#"}]]

    assert {"AUDIT#", "COMMAND#"} <= {each["prefix"] for keys in of_pools for each in keys["sk"]["S"]}


def test_a_lab_that_only_tells_has_no_rule_for_requests(synthesise: Callable[..., Assembly]) -> None:
    stack = synthesise(events={}).template("gpu-lab-controller").part("Events")
    assert [each for each in stack.properties("AWS::Events::Rule") if "EventPattern" in each] == []
    assert [each["Statement"]["Effect"] for each in policies(stack).values()] == ["Deny", "Deny"]
