"""Each event of PutEvents is judged by its own bus, source and type: by the caller's policies and by the bus's.

Sources: EventBridge user guide, "Permissions for Amazon EventBridge event buses" and "Using IAM policy conditions in
Amazon EventBridge"; IAM user guide, "Policy evaluation logic".
"""

import json

import pytest
from botocore.exceptions import ClientError

from local.aws.authorization.record import RECORD
from tests.local.aws.permissions.test_iam import allow, role

ACCOUNT = "123456789012"
BUS = f"arn:aws:events:ap-northeast-2:{ACCOUNT}:event-bus/lab"
CI = f"arn:aws:iam::{ACCOUNT}:role/ci"


@pytest.fixture
def bus(aws):
    aws.call("events", "create_event_bus", Name="lab")
    return aws


def policy(aws, *statements):
    whole = [
        {"Sid": f"s{number}", "Principal": "*", "Action": "events:PutEvents", "Resource": BUS, **statement}
        for number, statement in enumerate(statements)
    ]
    document = json.dumps({"Version": "2012-10-17", "Statement": whole})
    aws.call("events", "put_permission", EventBusName="lab", Policy=document)


def deny(**condition):
    return {"Effect": "Deny", "Condition": condition}


def entry(source="ci.training", kind="open", **more):
    return {"Source": source, "DetailType": kind, "Detail": "{}", "EventBusName": "lab", **more}


def put(aws, caller, *entries):
    answer = aws.call("events", "put_events", role=caller, Entries=list(entries or [entry()]))
    assert answer["FailedEntryCount"] == 0


def refused(aws, caller, *entries):
    """AWS's words."""
    with pytest.raises(ClientError) as error:
        put(aws, caller, *entries)
    assert error.value.response["Error"]["Code"] == "AccessDeniedException"
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    return error.value.response["Error"]["Message"]


def test_the_bus_denies_whom_their_own_policy_allows_everything(bus):
    ci, other = role(bus, "ci", allow("events:PutEvents")), role(bus, "other", allow("events:*"))
    policy(bus, deny(ArnNotEquals={"aws:PrincipalArn": [CI]}))
    put(bus, ci)
    assert refused(bus, other) == (
        f"User: arn:aws:sts::{ACCOUNT}:assumed-role/other/embedded-aws is not authorized to perform:"
        f" events:PutEvents on resource: {BUS} with an explicit deny in a resource-based policy"
    )


def test_the_bus_denies_a_source_that_is_not_the_caller_s(bus):
    ci = role(bus, "ci", allow("events:PutEvents"))
    policy(
        bus,
        deny(
            StringEquals={"aws:PrincipalArn": CI},
            StringNotEqualsIfExists={"events:source": ["ci.training"]},
        ),
        deny(StringNotEquals={"events:detail-type": ["open", "extend", "close"]}),
    )
    put(bus, ci, entry(), entry(kind="close"))
    assert "explicit deny in a resource-based policy" in refused(bus, ci, entry("lamplighter.lab"))
    assert "explicit deny in a resource-based policy" in refused(bus, ci, entry(kind="lease-granted"))


def test_the_bus_lets_in_whom_no_policy_of_their_own_allows(bus):
    """In one account a resource's policy is enough, if it names the role."""
    ci, other = bus.role("ci"), bus.role("other")
    allowed = {"Effect": "Allow", "Condition": {"StringEquals": {"events:source": "ci.training"}}}
    policy(bus, {**allowed, "Principal": {"AWS": CI}})
    put(bus, ci)
    assert "no identity-based policy allows the events:PutEvents action" in refused(bus, ci, entry("other"))
    assert "no identity-based policy allows the events:PutEvents action" in refused(bus, other)


def test_naming_the_account_leaves_it_to_the_account_s_own_policies(bus):
    own = role(bus, "ci", allow("events:PutEvents", BUS))
    policy(bus, {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}})
    put(bus, own)
    assert "no identity-based policy" in refused(bus, bus.role("other"))


def test_an_own_policy_may_name_the_bus_the_source_and_the_type(bus):
    condition = {"StringEquals": {"events:source": "ci.training", "events:detail-type": ["open", "close"]}}
    ci = role(bus, "ci", allow("events:PutEvents", BUS, **condition))
    put(bus, ci)
    for denied in (entry("ci.other"), entry(kind="extend"), entry(EventBusName="default")):
        assert "no identity-based policy allows the events:PutEvents action" in refused(bus, ci, denied)


def test_one_denied_entry_denies_the_whole_request(bus):
    """The answer for several entries is [est]."""
    url, queue = bus.queue("q")
    pattern = '{"source": [{"prefix": ""}]}'
    bus.call("events", "put_rule", Name="r", EventBusName="lab", EventPattern=pattern)
    bus.call("events", "put_targets", Rule="r", EventBusName="lab", Targets=[{"Id": "q", "Arn": queue}])
    condition = {"StringEquals": {"events:source": "ci.training"}}
    ci = role(bus, "ci", allow("events:PutEvents", BUS, **condition))
    bus.hold()
    refused(bus, ci, entry(), entry("forged"))
    bus.clock.sleep(60)
    assert "Messages" not in bus.call("sqs", "receive_message", QueueUrl=url)


def test_an_entry_without_a_source_has_none_to_be_judged_by(bus):
    exists = role(bus, "exists", allow("events:PutEvents", BUS, Null={"events:source": "false"}))
    absent = role(bus, "absent", allow("events:PutEvents", BUS, StringEqualsIfExists={"events:source": "x"}))
    before = dict(RECORD.not_judged)
    without = {key: value for key, value in entry().items() if key != "Source"}
    refused(bus, exists, without)
    answer = bus.call("events", "put_events", role=absent, Entries=[without])
    assert answer["Entries"][0]["ErrorCode"] == "InvalidArgument"
    assert dict(RECORD.not_judged) == before


def test_a_call_of_a_program_does_not_come_from_a_bus(bus):
    """`events:eventBusInvocation` is false for PutEvents."""
    called = allow("events:PutEvents", BUS, Bool={"events:eventBusInvocation": "false"})
    forwarded = allow("events:PutEvents", BUS, Bool={"events:eventBusInvocation": "true"})
    put(bus, role(bus, "called", called))
    refused(bus, role(bus, "forwarded", forwarded))


def test_the_bus_s_policy_speaks_of_its_rules_too(bus):
    keeper = role(bus, "keeper", allow("events:*"))
    rules = BUS.replace(":event-bus/lab", ":rule/lab/*")
    policy(bus, {"Effect": "Deny", "Action": ["events:PutRule", "events:DeleteRule"], "Resource": rules})
    with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
        bus.call(
            "events", "put_rule", role=keeper, Name="r", EventBusName="lab", EventPattern='{"source": ["a"]}'
        )
    bus.call("events", "put_rule", role=keeper, Name="r", EventPattern='{"source": ["a"]}')


def test_reading_a_bus_is_judged_on_that_bus(bus):
    reader = role(bus, "reader", allow("events:DescribeEventBus", BUS))
    assert bus.call("events", "describe_event_bus", role=reader, Name="lab")["Arn"] == BUS
    with pytest.raises(ClientError, match="event-bus/default because no identity-based policy"):
        bus.call("events", "describe_event_bus", role=reader)


def test_the_bus_denies_an_administrator_whom_it_does_not_let_in(bus):
    policy(bus, deny(ArnNotEquals={"aws:PrincipalArn": [CI]}))
    words = refused(bus, "")
    assert f"user/instructor is not authorized to perform: events:PutEvents on resource: {BUS}" in words
    assert "explicit deny in a resource-based policy" in words
    policy(bus, deny(ArnNotEquals={"aws:PrincipalArn": [CI, f"arn:aws:iam::{ACCOUNT}:user/instructor"]}))
    put(bus, "")
