"""Each role does what it is for, and the same call for another lab of the account is denied.

Every statement of every role that names a resource is called for, through the embedded IAM.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.iam.models import iam_backends

from local.aws import iam
from local.aws.embedded import EmbeddedAws
from local.clock import VirtualClock
from tests.infra.conftest import Template
from tests.infra.stacks.two_labs import MINE, NEIGHBOUR, TwoLabs, built, granted

Call = tuple[str, str, dict[str, Any]]


@pytest.fixture(scope="module")
def labs(
    tmp_path_factory: pytest.TempPathFactory, cluster: Template, controller: Template
) -> Iterator[TwoLabs]:
    folder: Path = tmp_path_factory.mktemp("two-labs")
    clock = VirtualClock(folder / "clock")
    embedded = EmbeddedAws(clock, folder, "ap-northeast-2")
    embedded.start()
    clock.hurry(True)
    with clock.busy():
        yield built(embedded, {"cluster": cluster, "controller": controller})
    clock.stop()
    embedded.stop()


KEY = {"pk": {"S": "KEY"}, "sk": {"S": "x"}}
WRITTEN = {"UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": {"S": "x"}}}
SCHEDULE = {"ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"}, "State": "DISABLED"}


def items(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return "dynamodb", operation, {"TableName": arn.rpartition("/")[2], **more}

    return call


def query(arn: str) -> Call:
    asked = {"KeyConditionExpression": "pk = :k", "ExpressionAttributeValues": {":k": KEY["pk"]}}
    return "dynamodb", "query", {"TableName": arn.rpartition("/")[2], **asked}


def batch(arn: str) -> Call:
    written = [{"PutRequest": {"Item": KEY}}]
    return "dynamodb", "batch_write_item", {"RequestItems": {arn.rpartition("/")[2]: written}}


def checked(arn: str) -> Call:
    check = {
        "TableName": arn.rpartition("/")[2],
        "Key": KEY,
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    return "dynamodb", "transact_write_items", {"TransactItems": [{"ConditionCheck": check}]}


def of_cluster(
    operation: str, cluster: str = "name", group: str = "nodegroupName", **more: Any
) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        _, name, *rest = arn.rpartition(":")[2].split("/")
        return "eks", operation, {cluster: name, **({group: rest[0]} if rest else {}), **more}

    return call


def of_group(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return "autoscaling", operation, {"AutoScalingGroupName": "GROUP", **more}

    return call


def of_schedule(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        _, group, name = arn.split("/")
        return "scheduler", operation, {"GroupName": group, "Name": name.replace("*", "x"), **more}

    return call


def by_arn(service: str, operation: str, member: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return service, operation, {member: arn, **more}

    return call


def of_function(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return "lambda", operation, {"FunctionName": arn.partition(":function:")[2], **more}

    return call


def of_queue(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return "sqs", operation, {"QueueUrl": f"https://q/1/{arn.rpartition(':')[2]}", **more}

    return call


def secret(arn: str) -> Call:
    """AWS ends a secret's ARN with six letters of its own."""
    return "secretsmanager", "get_secret_value", {"SecretId": arn.rpartition(":")[2][: -len("-ABCDEF")]}


def parameters(arn: str) -> Call:
    return "ssm", "get_parameters", {"Names": ["/" + arn.partition(":parameter/")[2]]}


def of_object(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        return "s3", operation, {"Bucket": arn.rpartition(":")[2].partition("/")[0], "Key": "x", **more}

    return call


def of_log(operation: str, **more: Any) -> Callable[[str], Call]:
    def call(arn: str) -> Call:
        group = arn.partition(":log-group:")[2].partition(":")[0]
        return "logs", operation, {"logGroupName": group, "logStreamName": "s", **more}

    return call


RULES = {"FromPort": 1, "ToPort": 2, "IpProtocol": "tcp", "CidrIp": "10.0.0.0/8"}
TARGET = {
    "Arn": "arn:aws:sqs:ap-northeast-2:123456789012:q",
    "RoleArn": "arn:aws:iam::123456789012:role/nobody",
}
#: How each action is called for by the ARN that a statement names. KEY, GROUP, INSTANCE and SECURITY stand for
#: the lab's own.
CALLS: dict[str, Callable[[str], Call]] = {
    "autoscaling:CompleteLifecycleAction": of_group(
        "complete_lifecycle_action",
        LifecycleHookName="h",
        LifecycleActionResult="CONTINUE",
        InstanceId="INSTANCE",
    ),
    "autoscaling:UpdateAutoScalingGroup": of_group("update_auto_scaling_group", MinSize=0),
    "dynamodb:BatchWriteItem": batch,
    "dynamodb:ConditionCheckItem": checked,
    "dynamodb:DeleteItem": items("delete_item", Key=KEY),
    "dynamodb:GetItem": items("get_item", Key=KEY),
    "dynamodb:PutItem": items("put_item", Item=KEY),
    "dynamodb:Query": query,
    "dynamodb:UpdateItem": items("update_item", Key=KEY, **WRITTEN),
    "ec2:AuthorizeSecurityGroupIngress": lambda _: (
        "ec2",
        "authorize_security_group_ingress",
        {"GroupId": "SECURITY", **RULES},
    ),
    "ec2:RevokeSecurityGroupIngress": lambda _: (
        "ec2",
        "revoke_security_group_ingress",
        {"GroupId": "SECURITY", **RULES},
    ),
    "ec2:TerminateInstances": lambda _: ("ec2", "terminate_instances", {"InstanceIds": ["INSTANCE"]}),
    "eks:DescribeCluster": of_cluster("describe_cluster"),
    "eks:DescribeNodegroup": of_cluster("describe_nodegroup", "clusterName"),
    "eks:UpdateNodegroupConfig": of_cluster("update_nodegroup_config", "clusterName"),
    "lambda:GetFunction": of_function("get_function"),
    "lambda:InvokeFunction": of_function("invoke", InvocationType="DryRun"),
    "logs:CreateLogStream": of_log("create_log_stream"),
    "logs:DeleteLogGroup": lambda arn: ("logs", "delete_log_group", {"logGroupName": arn.split(":")[6]}),
    "logs:PutLogEvents": of_log("put_log_events", logEvents=[{"timestamp": 0, "message": "m"}]),
    "s3:DeleteObject": of_object("delete_object"),
    "s3:GetObject": of_object("get_object"),
    "s3:ListBucket": lambda arn: ("s3", "list_objects_v2", {"Bucket": arn.rpartition(":")[2]}),
    "s3:PutObject": of_object("put_object", Body=b""),
    "scheduler:CreateSchedule": of_schedule("create_schedule", **SCHEDULE, Target=TARGET),
    "scheduler:DeleteSchedule": of_schedule("delete_schedule"),
    "scheduler:GetSchedule": of_schedule("get_schedule"),
    "scheduler:UpdateSchedule": of_schedule("update_schedule", **SCHEDULE, Target=TARGET),
    "secretsmanager:GetSecretValue": secret,
    "sns:Publish": by_arn("sns", "publish", "TopicArn", Message="m"),
    "sqs:DeleteMessage": of_queue("delete_message", ReceiptHandle="h"),
    "sqs:GetQueueAttributes": of_queue("get_queue_attributes"),
    "sqs:ReceiveMessage": of_queue("receive_message"),
    "sqs:SendMessage": of_queue("send_message", MessageBody="m"),
    "ssm:GetParameters": parameters,
    "states:DescribeExecution": by_arn("stepfunctions", "describe_execution", "executionArn"),
    "states:GetExecutionHistory": by_arn("stepfunctions", "get_execution_history", "executionArn"),
    "states:StartExecution": by_arn(
        "stepfunctions", "start_execution", "stateMachineArn", name="DENIED/NAME"
    ),
    "states:StopExecution": by_arn("stepfunctions", "stop_execution", "executionArn"),
}

#: What is judged without a call: it takes what only a running lab has, or AWS asks it of itself.
WITHOUT_CALL = {
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "eks:DescribeUpdate",
    "eks:ListUpdates",
    "events:DescribeRule",
    "events:PutEvents",
    "events:PutRule",
    "events:PutTargets",
    "iam:PassRole",
    "servicequotas:GetServiceQuota",
    "ssm:GetParameter",
}
#: What no lab has for itself: quotas, the version of the account's bootstrap, the rule of Step Functions.
OF_THE_ACCOUNT = {
    "events:DescribeRule",
    "events:PutRule",
    "events:PutTargets",
    "servicequotas:GetServiceQuota",
    "ssm:GetParameter",
}


def test_each_role_is_let_to_its_own_lab_and_kept_from_the_neighbour_s(labs: TwoLabs) -> None:
    wrong = [
        f"{role.rpartition('/')[2]} {action} on {resource} of {lab}: {said}"
        for role, action, resource, condition in granted(labs.aws)
        for lab, allowed in ((MINE, True), (NEIGHBOUR, False))
        if (said := denied(labs, role, (action, resource, condition), lab)) != ("" if allowed else "denied")
        and not (lab == NEIGHBOUR and action in OF_THE_ACCOUNT)
    ]
    assert wrong == []


def denied(labs: TwoLabs, role: str, statement: tuple[str, str, str], lab: str) -> str:
    """`denied` where the role may not, else nothing."""
    action, resource, condition = statement
    bucket = labs.ids[MINE]["bucket"]
    arn = resource.replace(bucket, labs.ids[lab]["bucket"]).replace(MINE, lab).replace("*", "x")
    if action in WITHOUT_CALL:
        return "" if directly(labs, role, action, arn, lab) else "denied"
    service, operation, request = CALLS[action](arn)
    key = re.search(r'LeadingKeys": \["([^"*]*)', condition)
    texts = {"GROUP": "group", "INSTANCE": "instance", "SECURITY": "security-group"}
    own = {text: labs.ids[lab][kind] for text, kind in texts.items()} | {"KEY": key[1] if key else "POOL#gpu"}
    try:
        labs.call(service, operation, role=role, **filled(request, own))
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            return str(error)
        return "denied" if f"is not authorized to perform: {action}".lower() in str(error).lower() else ""
    return ""


def directly(labs: TwoLabs, role: str, action: str, arn: str, lab: str) -> bool:
    state = labs.aws.around.state
    if action.startswith("autoscaling:"):
        arn = state.group(name=labs.ids[lab]["group"])
    asked = {
        "events:PutEvents": {"events:source": (f"lamplighter.{MINE}",)},
        "iam:PassRole": {"iam:passedtoservice": ("scheduler.amazonaws.com",)},
    }
    return iam.role_may(role, action, arn, state, asked.get(action, {}))


def filled(value: Any, own: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(inner, own) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, own) for inner in value]
    return own.get(value, value) if isinstance(value, str) else value


def test_a_pod_with_its_node_s_role_sizes_no_pool_of_the_lab(labs: TwoLabs) -> None:
    """The autoscaler's policy may size every group that carries its tag; a Deny keeps it from the pools."""
    state = labs.aws.around.state
    roles = iam_backends[iam.ACCOUNT][iam.PARTITION].roles.values()
    nodes = next(
        role.arn
        for role in roles
        if MINE in role.name and any("AutoScaler" in policy.name for policy in role.managed_policies.values())
    )
    sizing = "autoscaling:SetDesiredCapacity"
    assert not iam.role_may(nodes, sizing, state.group(name=labs.ids[MINE]["group"]), state)
    labs.call(
        "autoscaling",
        "create_or_update_tags",
        Tags=[
            {
                "ResourceId": labs.ids[NEIGHBOUR]["group"],
                "ResourceType": "auto-scaling-group",
                "Key": "k8s.io/cluster-autoscaler/enabled",
                "Value": "true",
                "PropagateAtLaunch": False,
            }
        ],
    )
    assert iam.role_may(nodes, sizing, state.group(name=labs.ids[NEIGHBOUR]["group"]), state)
