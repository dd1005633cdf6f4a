"""Buses, their rules and their targets do and refuse what EventBridge does and refuses; stacks make and change them.

Sources: EventBridge API reference, DeleteEventBus, PutPermission, PutTargets, ListEventBuses; user guide, "Using
resource-based policies for Amazon EventBridge" and "Using dead-letter queues to process undelivered events";
CloudFormation template reference, AWS::Events::EventBus, EventBusPolicy, Rule and AWS::Logs::ResourcePolicy; AWS's
answers as recorded by localstack in tests/aws/services/events/test_events.snapshot.json.
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.cloudformation.test_cloudformation import Stacks

BUS = "arn:aws:events:ap-northeast-2:123456789012:event-bus/lab"
EVENT = {"Source": "ci.training", "DetailType": "open", "Detail": '{"pool": "gpu"}', "EventBusName": "lab"}
PASS = '{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}'


@pytest.fixture
def bus(aws):
    aws.call("events", "create_event_bus", Name="lab", Description="events of the lab")
    return aws


@pytest.fixture
def stacks(aws):
    return Stacks(aws)


def rule(aws, *targets):
    aws.call("events", "put_rule", Name="r", EventBusName="lab", EventPattern='{"source": ["ci.training"]}')
    named = [{"Id": str(number), **target} for number, target in enumerate(targets)]
    if named:
        aws.call("events", "put_targets", Rule="r", EventBusName="lab", Targets=named)


def put(aws):
    assert aws.call("events", "put_events", Entries=[EVENT])["FailedEntryCount"] == 0


def allow_logs(aws, *actions, group="/aws/events/*", **condition):
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": ["events.amazonaws.com", "delivery.logs.amazonaws.com"]},
        "Action": list(actions),
        "Resource": f"arn:aws:logs:ap-northeast-2:123456789012:log-group:{group}:*",
        "Condition": condition,
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    aws.call("logs", "put_resource_policy", policyName="events", policyDocument=document)


def logged(aws):
    return aws.call("logs", "filter_log_events", logGroupName="/aws/events/lab")["events"]


def log_target(aws, **more):
    aws.call("logs", "create_log_group", logGroupName="/aws/events/lab")
    return {"Arn": "arn:aws:logs:ap-northeast-2:123456789012:log-group:/aws/events/lab", **more}


def test_a_bus_with_rules_is_not_deleted(bus):
    rule(bus)
    with pytest.raises(ClientError) as refused:
        bus.call("events", "delete_event_bus", Name="lab")
    assert refused.value.response["Error"] == {
        "Code": "ValidationException",
        "Message": "EventBus can't be deleted since it has rules.",
    }
    bus.call("events", "delete_rule", Name="r", EventBusName="lab")
    bus.call("events", "delete_event_bus", Name="lab")
    with pytest.raises(ClientError, match=r"Event bus lab does not exist\."):
        bus.call("events", "describe_event_bus", Name="lab")


def test_a_bus_is_described_and_listed(bus):
    described = bus.call("events", "describe_event_bus", Name="lab")
    listed = bus.call("events", "list_event_buses", NamePrefix="l")["EventBuses"]
    assert (described["Arn"], described["Description"]) == (BUS, "events of the lab")
    assert listed == [described]
    assert {one["Name"] for one in bus.call("events", "list_event_buses")["EventBuses"]} == {"default", "lab"}


def test_rules_belong_to_their_bus(bus):
    rule(bus)
    assert [one["Name"] for one in bus.call("events", "list_rules", EventBusName="lab")["Rules"]] == ["r"]
    assert bus.call("events", "list_rules")["Rules"] == []
    described = bus.call("events", "describe_rule", Name="r", EventBusName="lab")
    assert described["Arn"] == "arn:aws:events:ap-northeast-2:123456789012:rule/lab/r"
    with pytest.raises(ClientError, match="ScheduleExpression is supported only on the default event bus"):
        bus.call("events", "put_rule", Name="s", EventBusName="lab", ScheduleExpression="rate(1 hour)")


def test_a_policy_is_replaced_whole_and_a_permission_is_added(bus):
    first = {"Sid": "a", "Effect": "Deny", "Principal": "*", "Action": "events:PutEvents", "Resource": BUS}
    second = {**first, "Sid": "b", "Condition": {"StringNotEquals": {"events:source": ["ci.training"]}}}

    def policy():
        found = bus.call("events", "describe_event_bus", Name="lab").get("Policy")
        return json.loads(found)["Statement"] if found else None

    def put_policy(*statements):
        document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
        bus.call("events", "put_permission", EventBusName="lab", Policy=document)

    put_policy(first)
    put_policy(first, second)
    assert policy() == [first, second]
    named = {"Action": "events:PutEvents", "Principal": "111122223333", "StatementId": "c"}
    bus.call("events", "put_permission", EventBusName="lab", **named)
    assert [statement["Sid"] for statement in policy()] == ["a", "b", "c"]
    assert policy()[2]["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}
    bus.call("events", "remove_permission", EventBusName="lab", StatementId="b")
    assert [statement["Sid"] for statement in policy()] == ["a", "c"]
    bus.call("events", "remove_permission", EventBusName="lab", RemoveAllPermissions=True)
    assert policy() is None


def test_a_policy_has_at_most_10_kilobytes(bus):
    """API reference, PutPermission."""
    sources = [f"source-{number}" for number in range(1000)]
    document = json.dumps({"Version": "2012-10-17", "Statement": [{"Sid": "a", **statement(*sources)}]})
    with pytest.raises(ClientError, match="PolicyLengthExceededException"):
        bus.call("events", "put_permission", EventBusName="lab", Policy=document)


def test_a_state_machine_is_a_target_only_with_a_role(bus):
    """API reference, PutTargets: EventBridge relies on roles for state machines."""
    arn = "arn:aws:states:ap-northeast-2:123456789012:stateMachine:m"
    with pytest.raises(ClientError, match=f"RoleArn is required for target {arn}"):
        rule(bus, {"Arn": arn})


def test_a_rule_has_at_most_five_targets(bus):
    _url, queue = bus.queue("q")
    with pytest.raises(ClientError, match="LimitExceededException"):
        rule(bus, *[{"Arn": queue}] * 6)


def test_a_function_and_a_workflow_hear_a_custom_bus(bus, tmp_path):
    """The function's policy names the rule, whose ARN has the bus in it."""
    written = tmp_path / "event"
    function = bus.function("door", f"def handler(e, c): open({str(written)!r}, 'w').write(e['id'])\n")
    source = "arn:aws:events:ap-northeast-2:123456789012:rule/lab/r"
    allowed = {"Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com", "SourceArn": source}
    bus.call("lambda", "add_permission", FunctionName="door", StatementId="r", **allowed)
    role = bus.role("starter", "states:StartExecution")
    machine = bus.call("stepfunctions", "create_state_machine", name="m", definition=PASS, roleArn=role)
    rule(bus, {"Arn": function}, {"Arn": machine["stateMachineArn"], "RoleArn": role})
    put(bus)
    bus.clock.wait_until(None, lambda: written.exists() and bool(bus.embedded.moto_additions.transitions()))


def test_a_function_whose_policy_names_another_rule_hears_nothing_and_the_event_is_a_dead_letter(bus):
    url, queue = bus.queue("dead")
    function = bus.function("door", "def handler(e, c): raise RuntimeError\n")
    source = "arn:aws:events:ap-northeast-2:123456789012:rule/r"
    allowed = {"Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com", "SourceArn": source}
    bus.call("lambda", "add_permission", FunctionName="door", StatementId="r", **allowed)
    rule(bus, {"Arn": function, "DeadLetterConfig": {"Arn": queue}})
    put(bus)
    message = bus.message(url)
    attributes = {key: value["StringValue"] for key, value in message["MessageAttributes"].items()}
    assert attributes["RULE_ARN"].endswith(":rule/lab/r")
    assert attributes["ERROR_CODE"] == "AccessDenied"
    assert json.loads(message["Body"])["source"] == "ci.training"


def test_a_log_group_gets_events_that_the_logs_policy_lets_in(bus):
    allow_logs(bus, "logs:CreateLogStream", "logs:PutLogEvents")
    rule(bus, log_target(bus))
    put(bus)
    bus.clock.wait_until(None, lambda: bool(logged(bus)))
    (line,) = logged(bus)
    assert json.loads(line["message"])["detail"] == {"pool": "gpu"}


def test_a_transformer_gives_a_log_group_its_message(bus):
    allow_logs(bus, "logs:CreateLogStream", "logs:PutLogEvents")
    paths = {"time": "$.time", "pool": "$.detail.pool"}
    template = '{"timestamp": <time>, "message": "open <pool>"}'
    rule(bus, log_target(bus, InputTransformer={"InputPathsMap": paths, "InputTemplate": template}))
    put(bus)
    bus.clock.wait_until(None, lambda: bool(logged(bus)))
    assert [line["message"] for line in logged(bus)] == ["open gpu"]


@pytest.mark.parametrize(
    ("actions", "group"),
    [
        ((), "*"),
        (("logs:PutLogEvents",), "/aws/events/*"),
        (("logs:CreateLogStream", "logs:PutLogEvents"), "/aws/other/*"),
    ],
    ids=["no policy", "no stream", "other group"],
)
def test_a_log_group_without_such_a_policy_loses_the_event(bus, actions, group):
    """It goes to the dead-letter queue, if the target has one, else nowhere."""
    url, queue = bus.queue("dead")
    if actions:
        allow_logs(bus, *actions, group=group)
    rule(bus, log_target(bus, DeadLetterConfig={"Arn": queue}))
    put(bus)
    assert json.loads(bus.message(url)["Body"])["source"] == "ci.training"
    assert logged(bus) == []


def test_a_logs_policy_may_name_the_rule(bus):
    source = "arn:aws:events:ap-northeast-2:123456789012:rule/lab/other"
    allow_logs(bus, "logs:CreateLogStream", "logs:PutLogEvents", ArnEquals={"aws:SourceArn": source})
    url, queue = bus.queue("dead")
    rule(bus, log_target(bus, DeadLetterConfig={"Arn": queue}))
    put(bus)
    assert json.loads(bus.message(url)["Body"])["source"] == "ci.training"


def test_a_log_group_as_target_takes_no_role(bus):
    """User guide: "For Amazon CloudWatch Logs targets, do not specify a RoleArn"; the words are [est]."""
    with pytest.raises(ClientError, match="RoleArn is not supported for target"):
        rule(bus, log_target(bus, RoleArn=bus.role("writer", "logs:PutLogEvents")))


def statement(*sources):
    condition = {"StringNotEquals": {"events:source": list(sources)}}
    denied = {"Effect": "Deny", "Principal": "*", "Action": "events:PutEvents", "Resource": BUS}
    return {**denied, "Condition": condition}


def resources(**more):
    bus = {
        "Type": "AWS::Events::EventBus",
        "Properties": {"Name": "lab", "Tags": [{"Key": "a", "Value": "1"}]},
    }
    return {"Bus": bus, **more}


def policy(sid, *sources):
    properties = {"EventBusName": {"Ref": "Bus"}, "StatementId": sid, "Statement": statement(*sources)}
    return {"Type": "AWS::Events::EventBusPolicy", "Properties": properties}


def stack_rule(pattern, *targets):
    properties = {
        "Name": "r",
        "EventBusName": {"Ref": "Bus"},
        "EventPattern": pattern,
        "Targets": list(targets),
    }
    return {"Type": "AWS::Events::Rule", "Properties": properties}


def test_a_stack_makes_a_bus_with_policies_and_takes_them_away(stacks):
    outputs = {
        "Arn": {"Value": {"Fn::GetAtt": ["Bus", "Arn"]}},
        "Name": {"Value": {"Fn::GetAtt": ["Bus", "Name"]}},
        "Itself": {"Value": {"Ref": "Bus"}},
    }

    def statements():
        found = stacks.aws.call("events", "describe_event_bus", Name="lab").get("Policy")
        return [(each["Sid"], each["Condition"]) for each in json.loads(found)["Statement"]]

    made = stacks.create(resources(One=policy("one", "a"), Two=policy("two", "b")), Outputs=outputs)
    assert made["StackStatus"] == "CREATE_COMPLETE", stacks.reasons()
    assert {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]} == {
        "Arn": BUS,
        "Name": "lab",
        "Itself": "lab",
    }
    tags = stacks.aws.call("events", "list_tags_for_resource", ResourceARN=BUS)["Tags"]
    assert {"Key": "a", "Value": "1"} in tags
    assert {sid for sid, _ in statements()} == {"one", "two"}
    stacks.update(resources(One=policy("one", "a", "c")))
    assert statements() == [("one", {"StringNotEquals": {"events:source": ["a", "c"]}})]
    assert stacks.delete() == "DELETE_COMPLETE"
    with pytest.raises(ClientError, match="does not exist"):
        stacks.aws.call("events", "describe_event_bus", Name="lab")


def test_a_bus_of_a_stack_has_a_policy_and_a_dead_letter_queue_of_its_own(stacks):
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead"}}
    whole = {"Version": "2012-10-17", "Statement": [{"Sid": "own", **statement("a")}]}
    letters = {"Arn": {"Fn::GetAtt": ["Queue", "Arn"]}}

    def bus(**more):
        return {
            "Queue": queue,
            "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "lab", **more}},
        }

    stacks.create(bus(Policy=whole))
    described = stacks.aws.call("events", "describe_event_bus", Name="lab")
    assert json.loads(described["Policy"])["Statement"][0]["Sid"] == "own"
    stacks.update(bus(DeadLetterConfig=letters, Description="of the lab"))
    described = stacks.aws.call("events", "describe_event_bus", Name="lab")
    assert described["DeadLetterConfig"]["Arn"].endswith(":dead")
    assert described["Description"] == "of the lab"
    assert "Policy" not in described


def test_a_stack_puts_changes_and_removes_a_rule_on_its_bus(stacks):
    """`Ref` of a rule on a custom bus has the bus in it."""
    aws = stacks.aws
    urls, arns = zip(*(aws.queue(name) for name in ("one", "two")), strict=True)
    one, two = ({"Id": f"q{number}", "Arn": arn} for number, arn in enumerate(arns))
    pattern = {"source": [{"prefix": "ci."}], "detail-type": ["open", "close"]}
    made = stacks.create(resources(Rule=stack_rule(pattern, one)))
    assert made["StackStatus"] == "CREATE_COMPLETE", stacks.reasons()
    assert stacks.physical()["Rule"] == "lab|r"
    put(aws)
    assert json.loads(aws.message(urls[0])["Body"])["source"] == "ci.training"

    stacks.update(resources(Rule=stack_rule({"source": ["ci.training"]}, two)))
    targets = aws.call("events", "list_targets_by_rule", Rule="r", EventBusName="lab")["Targets"]
    assert targets == [two]
    stacks.update(resources())
    assert aws.call("events", "list_rules", EventBusName="lab")["Rules"] == []
    assert stacks.delete() == "DELETE_COMPLETE"


def test_a_stack_cannot_delete_a_bus_with_a_rule_of_somebody_else(stacks):
    stacks.create(resources())
    rule(stacks.aws)
    assert stacks.delete() == "DELETE_FAILED"
    assert "EventBus can't be deleted since it has rules." in stacks.reasons()


def test_a_stack_makes_a_policy_of_the_logs(stacks):
    def logs(*actions):
        allowed = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [{**allowed, "Action": list(actions)}]})
        properties = {"PolicyName": "p", "PolicyDocument": document}
        return {"Policy": {"Type": "AWS::Logs::ResourcePolicy", "Properties": properties}}

    def documents():
        found = stacks.aws.call("logs", "describe_resource_policies")["resourcePolicies"]
        return [json.loads(each["policyDocument"])["Statement"][0]["Action"] for each in found]

    stacks.create(logs("logs:PutLogEvents"))
    assert stacks.physical() == {"Policy": "p"}
    stacks.update(logs("logs:PutLogEvents", "logs:CreateLogStream"))
    assert documents() == [["logs:PutLogEvents", "logs:CreateLogStream"]]
    assert stacks.delete() == "DELETE_COMPLETE"
    assert documents() == []
