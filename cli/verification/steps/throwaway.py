"""The throw-away stack of the steps: its name, and the templates that they deploy."""

import json
from collections.abc import Collection, Mapping
from typing import Any
from uuid import uuid4

STACK = f"lamplighter-verify-{uuid4().hex[:8]}"
"""Of this run alone: what is undone is never of another run, nor of somebody else."""
TABLE = STACK
PARTITION_KEY = "pk"
DENIED_SOURCE = "lamplighter-verify.denied"
LATE = "Late"
"""The resource that fails where it is asked to."""
RUNTIME = "python3.13"
_KEPT = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}
"""As the ledger of a lab."""
ROLE = "Role"
"""The output with the ARN of the schedules' role."""
_ROLE = {ROLE: {"Fn::GetAtt": ["SchedulesRole", "Arn"]}}

_ANSWERS = """
import json, urllib.request

def handler(event, context):
    asked = event["ResourceProperties"].get("Outcome") if event["RequestType"] == "Create" else "SUCCESS"
    answer = {
        "Status": asked,
        "Reason": "as lamplighter verify asked",
        "PhysicalResourceId": "lamplighter-verify",
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": {"Size": "7"},
    }
    body = json.dumps(answer).encode()
    request = urllib.request.Request(event["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""})
    urllib.request.urlopen(request, timeout=10).read()
"""


def deploy(outcome: str) -> str:
    """A table that a failed create must not keep, and after it a custom resource that answers with this outcome.

    The output Joined is the resource's text, joined as the stacks of a lab join it.
    """
    resources = {
        "Kept": {**_table(), **_KEPT},
        "AnswersRole": _role("lambda"),
        "Answers": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": RUNTIME,
                "Handler": "index.handler",
                "Timeout": 30,
                "Role": {"Fn::GetAtt": ["AnswersRole", "Arn"]},
                "Code": {"ZipFile": _ANSWERS},
            },
        },
        LATE: {
            "Type": "AWS::CloudFormation::CustomResource",
            "DependsOn": ["Kept"],
            "Properties": {
                "ServiceToken": {"Fn::GetAtt": ["Answers", "Arn"]},
                # Else CloudFormation waits for an hour where the function cannot answer.
                "ServiceTimeout": 120,
                "Outcome": outcome,
            },
        },
    }
    return _template(resources, {"Joined": {"Fn::Join": ["-", ["size", {"Fn::GetAtt": [LATE, "Size"]}]]}})


def schedule() -> str:
    """A table, and a group for a schedule that may write an item into it."""
    grant = {"Action": "dynamodb:PutItem", "Resource": {"Fn::GetAtt": ["Fired", "Arn"]}}
    return _template({"Fired": _table(), **_schedules(grant)}, _ROLE)


def bus() -> str:
    """A bus that takes events of every source of the account but one, in the words of a lab's bus."""
    resources = {
        "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": STACK}},
        "Policy": {
            "Type": "AWS::Events::EventBusPolicy",
            "Properties": {
                "EventBusName": {"Ref": "Bus"},
                "StatementId": "Denied",
                "Statement": {
                    "Sid": "Denied",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "events:PutEvents",
                    "Resource": {"Fn::GetAtt": ["Bus", "Arn"]},
                    "Condition": {"ForAnyValue:StringEquals": {"events:source": DENIED_SOURCE}},
                },
            },
        },
    }
    return _template(resources)


def named() -> str:
    """The kinds of a lab that have names of their own. The table is the ledger: a destroy keeps it."""
    table = _table()
    table["Properties"] = {
        **table["Properties"],
        "StreamSpecification": {"StreamViewType": "KEYS_ONLY"},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    }
    resources = {
        "Kept": {**table, **_KEPT},
        "Secret": {
            "Type": "AWS::SecretsManager::Secret",
            "Properties": {"Name": STACK, "SecretString": "{}"},
        },
        "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": STACK, "RetentionInDays": 1}},
        "Claim": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": f"/{STACK}/claim", "Type": "String", "Value": "claimed"},
        },
        "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": STACK}},
        "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": STACK}},
        "Group": {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": STACK}},
    }
    return _template(resources, {"Stream": {"Fn::GetAtt": ["Kept", "StreamArn"]}})


def concurrency_net(arns: Collection[str]) -> str:
    """A group for schedules that may give each of these functions its concurrency back."""
    grant = {
        "Action": ["lambda:DeleteFunctionConcurrency", "lambda:PutFunctionConcurrency"],
        "Resource": list(arns),
    }
    return _template(_schedules(grant), _ROLE)


def _schedules(grant: Mapping[str, object]) -> dict[str, object]:
    """Schedules are deleted with their group."""
    group = {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": STACK}}
    return {"SchedulesRole": _role("scheduler", grant), "Schedules": group}


def _table() -> dict[str, Any]:
    key = {"AttributeName": PARTITION_KEY}
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{**key, "AttributeType": "S"}],
            "KeySchema": [{**key, "KeyType": "HASH"}],
        },
    }


def _role(service: str, grant: Mapping[str, object] | None = None) -> dict[str, object]:
    trust = {"Service": f"{service}.amazonaws.com"}
    may_assume = {"Effect": "Allow", "Principal": trust, "Action": "sts:AssumeRole"}
    properties: dict[str, object] = {"AssumeRolePolicyDocument": _document(may_assume)}
    if grant is not None:
        document = _document({"Effect": "Allow", **grant})
        properties["Policies"] = [{"PolicyName": "verify", "PolicyDocument": document}]
    return {"Type": "AWS::IAM::Role", "Properties": properties}


def _document(statement: Mapping[str, object]) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": [statement]}


def _template(resources: Mapping[str, object], outputs: Mapping[str, object] | None = None) -> str:
    document = {
        "Description": "The throw-away stack of `lamplighter verify`. It may be deleted.",
        "Resources": dict(resources),
        "Outputs": {name: {"Value": value} for name, value in (outputs or {}).items()},
    }
    return json.dumps({key: value for key, value in document.items() if value})
