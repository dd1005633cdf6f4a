"""A call with a role's credentials is judged whole: its action, its resource and the conditions of both.

Sources: IAM user guide, "Policy evaluation logic" and "Condition operators"; DynamoDB developer guide, "IAM and
transactions" and "Using IAM policy conditions for fine-grained access control"; EventBridge Scheduler user guide,
"Confused deputy prevention".
"""

import json
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.aws.authorization.record import RECORD
from local.aws.iam import assume
from tests.steady.hang import HANG_SECONDS

ACCOUNT = "123456789012"
TABLES = f"arn:aws:dynamodb:ap-northeast-2:{ACCOUNT}:table"
FUNCTION = "def handler(event, context):\n    return 1\n"


def table(aws, name: str = "ledger") -> str:
    aws.call(
        "dynamodb",
        "create_table",
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def role(aws, name: str, *statements: dict, trust: dict | None = None) -> str:
    """A role with these statements; without a trust policy of its own, every service may take it."""
    arn: str = aws.role(name)
    put(aws, name, *statements)
    if trust is not None:
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        aws.call("iam", "update_assume_role_policy", RoleName=name, PolicyDocument=document)
    return arn


def put(aws, name: str, *statements: dict) -> None:
    document = json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
    aws.call("iam", "put_role_policy", RoleName=name, PolicyName="may", PolicyDocument=document)


def allow(action: str, resource: str = "*", **condition) -> dict:
    return {"Effect": "Allow", "Action": action, "Resource": resource} | (
        {"Condition": condition} if condition else {}
    )


def write(aws, role: str, key: str = "a", table: str = "ledger") -> None:
    aws.call("dynamodb", "put_item", role=role, TableName=table, Item={"pk": {"S": key}})


def transact(aws, role: str) -> None:
    part = {"Put": {"TableName": "ledger", "Item": {"pk": {"S": "a"}}}}
    aws.call("dynamodb", "transact_write_items", role=role, TransactItems=[part])


def test_another_table_is_denied_in_aws_s_words(aws):
    table(aws), table(aws, "other")
    writer = role(aws, "writer", allow("dynamodb:PutItem", f"{TABLES}/ledger"))
    write(aws, writer)
    with pytest.raises(ClientError) as refused:
        write(aws, writer, table="other")
    assert refused.value.response["Error"] == {
        "Code": "AccessDeniedException",
        "Message": f"User: arn:aws:sts::{ACCOUNT}:assumed-role/writer/embedded-aws is not authorized to perform:"
        f" dynamodb:PutItem on resource: {TABLES}/other because no identity-based policy allows the"
        " dynamodb:PutItem action",
    }


def test_a_secret_may_be_named_with_or_without_the_letters_that_aws_adds(aws):
    arn = aws.call("secretsmanager", "create_secret", Name="lab/slack", SecretString="s")["ARN"]
    short = arn.rpartition("-")[0]
    reader = role(aws, "reader", allow("secretsmanager:GetSecretValue", f"{short}-??????"))
    for name in (arn, short, "lab/slack"):
        said = aws.call("secretsmanager", "get_secret_value", role=reader, SecretId=name)
        assert said["SecretString"] == "s", name
    aws.call("secretsmanager", "create_secret", Name="lab/slack-2", SecretString="t")
    with pytest.raises(ClientError, match="secretsmanager:GetSecretValue"):
        aws.call("secretsmanager", "get_secret_value", role=reader, SecretId="lab/slack-2")


def test_a_trail_is_named_in_two_ways(aws):
    aws.bucket("trails")
    arn = aws.call("cloudtrail", "create_trail", Name="trail", S3BucketName="trails")["TrailARN"]
    reader = role(
        aws, "reader", *(allow(f"cloudtrail:{verb}", arn) for verb in ("GetTrail", "GetEventSelectors"))
    )
    aws.call("cloudtrail", "get_trail", role=reader, Name=arn)
    aws.call("cloudtrail", "get_event_selectors", role=reader, TrailName=arn)
    with pytest.raises(ClientError, match="cloudtrail:GetEventSelectors"):
        aws.call("cloudtrail", "get_event_selectors", role=reader, TrailName="other")


def test_only_the_leading_keys_of_a_condition_may_be_written(aws):
    table(aws)
    keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SLACK", "SLACK#*"]}}
    writer = role(aws, "writer", allow("dynamodb:*", f"{TABLES}/ledger", **keys))
    write(aws, writer, "SLACK#1")
    with pytest.raises(ClientError, match="no identity-based policy allows"):
        write(aws, writer, "POOL#gpu")
    batch = [{"PutRequest": {"Item": {"pk": {"S": key}}}} for key in ("SLACK", "POOL#gpu")]
    with pytest.raises(ClientError, match="dynamodb:BatchWriteItem"):
        aws.call("dynamodb", "batch_write_item", role=writer, RequestItems={"ledger": batch})


def test_a_boundary_bounds_what_policies_allow(aws):
    table(aws)
    writer = role(aws, "writer", allow("*"))
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow("dynamodb:GetItem")]})
    bound = aws.call("iam", "create_policy", PolicyName="bound", PolicyDocument=document)["Policy"]["Arn"]
    aws.call("iam", "put_role_permissions_boundary", RoleName="writer", PermissionsBoundary=bound)
    with pytest.raises(
        ClientError, match="because no permissions boundary allows the dynamodb:PutItem action"
    ):
        write(aws, writer)


def test_instances_are_told_apart_by_their_tags_their_types_and_a_tag_that_they_lack(aws):
    def started(kind: str, **tags: str) -> str:
        written = [{"Key": key, "Value": value} for key, value in {"lab": "ours", **tags}.items()]
        return aws.call(
            "ec2",
            "run_instances",
            ImageId="ami-12c6146b",
            InstanceType=kind,
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": written}],
        )["Instances"][0]["InstanceId"]

    gpu, cpu, member = started("g5.xlarge"), started("m5.large"), started("g5.xlarge", group="their-group")
    others = started("g5.xlarge", lab="others")
    alone = {
        "StringEquals": {"ec2:ResourceTag/lab": "ours"},
        "StringLike": {"ec2:InstanceType": ["g*", "p*"]},
        "Null": {"ec2:ResourceTag/group": "true"},
    }
    ender = role(
        aws, "ender", allow("ec2:TerminateInstances", f"arn:aws:ec2:*:{ACCOUNT}:instance/*", **alone)
    )
    for kept in ([cpu], [member], [others], [gpu, others]):
        with pytest.raises(ClientError, match=r"UnauthorizedOperation.*ec2:TerminateInstances on resource"):
            aws.call("ec2", "terminate_instances", role=ender, InstanceIds=kept)
    aws.call("ec2", "terminate_instances", role=ender, InstanceIds=[gpu])


def schedule(aws, caller: str, passed: str) -> None:
    queue = f"arn:aws:sqs:ap-northeast-2:{ACCOUNT}:q"
    aws.call(
        "scheduler",
        "create_schedule",
        role=caller,
        Name="s",
        ScheduleExpression="rate(1 hour)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": queue, "RoleArn": passed},
    )


def test_a_role_is_passed_to_the_service_that_the_policy_names(aws):
    passed = aws.role("passed")
    to = {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}
    caller = role(aws, "caller", allow("scheduler:CreateSchedule"), allow("iam:PassRole", passed, **to))
    with pytest.raises(ClientError, match=f"iam:PassRole on resource: {passed}"):
        schedule(aws, caller, passed)
    to["StringEquals"]["iam:PassedToService"] = "scheduler.amazonaws.com"
    put(aws, "caller", allow("scheduler:CreateSchedule"), allow("iam:PassRole", passed, **to))
    schedule(aws, caller, passed)


def test_a_schedule_takes_a_role_only_from_the_group_that_the_role_trusts(aws):
    trust = {
        "Effect": "Allow",
        "Principal": {"Service": "scheduler.amazonaws.com"},
        "Action": "sts:AssumeRole",
        "Condition": {
            "StringEquals": {
                "aws:SourceArn": f"arn:aws:scheduler:ap-northeast-2:{ACCOUNT}:schedule-group/lab"
            }
        },
    }
    taken = role(aws, "taken", allow("*"), trust=trust)
    with pytest.raises(ClientError, match="must allow AWS EventBridge Scheduler to assume the role"):
        schedule(aws, "", taken)


def test_a_topic_s_own_policy_lets_a_role_in_that_has_none(aws):
    topic = aws.call("sns", "create_topic", Name="t")["TopicArn"]
    teller = aws.role("teller")
    with pytest.raises(ClientError, match=r"AuthorizationError.*SNS:Publish on resource"):
        aws.call("sns", "publish", role=teller, TopicArn=topic, Message="m")
    document = {
        "Version": "2012-10-17",
        "Statement": [{**allow("sns:Publish", topic), "Principal": {"AWS": teller}}],
    }
    aws.call(
        "sns",
        "set_topic_attributes",
        TopicArn=topic,
        AttributeName="Policy",
        AttributeValue=json.dumps(document),
    )
    aws.call("sns", "publish", role=teller, TopicArn=topic, Message="m")


def test_lambda_takes_no_role_that_does_not_trust_it(aws):
    trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    with pytest.raises(ClientError, match="cannot be assumed by Lambda"):
        aws.function("f", FUNCTION, role=role(aws, "taken", allow("logs:*"), trust=trust))


def test_a_policy_names_a_log_group_with_a_star_at_its_end(aws):
    group = f"arn:aws:logs:ap-northeast-2:{ACCOUNT}:log-group:/lab"
    aws.call("logs", "create_log_group", logGroupName="/lab")
    reads = role(aws, "reads", allow("logs:FilterLogEvents", f"{group}:*"))
    misses = role(aws, "misses", allow("logs:FilterLogEvents", group))

    assert aws.call("logs", "filter_log_events", role=reads, logGroupName="/lab")["events"] == []
    with pytest.raises(ClientError, match="logs:FilterLogEvents"):
        aws.call("logs", "filter_log_events", role=misses, logGroupName="/lab")


def test_a_function_whose_role_may_not_write_logs_leaves_none(aws):
    speaks = "def handler(event, context):\n    print('seen')\n"
    for name, allowed in (("mute", []), ("heard", [allow("logs:*")])):
        aws.function(
            name, speaks, role=role(aws, f"{name}-role", *allowed or [allow("sts:GetCallerIdentity")])
        )
        aws.invoke(name)
    assert "seen" in aws.runtime.logs("heard")
    assert "seen" not in aws.runtime.logs("mute")


def test_each_object_that_one_call_deletes_is_judged(aws):
    aws.bucket("other-pages")
    of_pages = allow("s3:DeleteObject", resource="arn:aws:s3:::other-pages/pages/*")
    deleter = role(aws, "deleter", of_pages)

    def delete(*keys: str):
        objects = {"Objects": [{"Key": key} for key in keys]}
        return aws.call("s3", "delete_objects", role=deleter, Bucket="other-pages", Delete=objects)

    assert [each["Key"] for each in delete("pages/a", "pages/b")["Deleted"]] == ["pages/a", "pages/b"]
    with pytest.raises(ClientError, match="s3:DeleteObject"):
        delete("pages/a", "else")


def test_the_key_of_an_object_may_hold_colons(aws):
    aws.bucket("other-pages")
    writer = role(aws, "writer", allow("s3:PutObject", resource="arn:aws:s3:::other-pages/*"))

    aws.call("s3", "put_object", role=writer, Bucket="other-pages", Key="at-12:06:05.html", Body=b"text")

    [kept] = aws.call("s3", "list_objects_v2", Bucket="other-pages")["Contents"]
    assert kept["Key"] == "at-12:06:05.html"


def test_a_signed_link_does_what_its_signer_may_and_no_more(aws):
    aws.bucket("pages-of-lab")
    aws.call("s3", "put_object", Bucket="pages-of-lab", Key="page", Body=b"text")
    for name, action, status in (("reader", "s3:GetObject", 200), ("lister", "s3:ListBucket", 403)):
        keys = assume(aws.role(name, action), "link", "ap-northeast-2")
        signer = boto3.client(
            "s3",
            endpoint_url=aws.embedded.endpoint,
            region_name="ap-northeast-2",
            aws_access_key_id=keys.access_key_id,
            aws_secret_access_key=keys.secret_access_key,
            aws_session_token=keys.session_token,
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
        )
        link = signer.generate_presigned_url("get_object", Params={"Bucket": "pages-of-lab", "Key": "page"})
        try:
            answer = urllib.request.urlopen(link, timeout=HANG_SECONDS).status
        except urllib.error.HTTPError as refused:
            answer = refused.status
        assert answer == status, name


def test_a_workflow_that_waits_for_another_needs_the_managed_rule(aws):
    waiting = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": {"StateMachineArn": f"arn:aws:states:ap-northeast-2:{ACCOUNT}:stateMachine:m"},
        "End": True,
    }
    machine = {"name": "w", "definition": json.dumps({"StartAt": "A", "States": {"A": waiting}})}
    with pytest.raises(ClientError, match="is not authorized to create managed-rule"):
        aws.call("stepfunctions", "create_state_machine", **machine, roleArn=aws.role("waits", "states:*"))
    able = aws.role("able", "states:*", "events:PutTargets", "events:PutRule", "events:DescribeRule")
    aws.call("stepfunctions", "create_state_machine", **machine, roleArn=able)


def test_the_runs_of_one_workflow_are_listed_by_a_role_that_may_list_those_of_that_workflow(aws):
    machines = {
        name: f"arn:aws:states:ap-northeast-2:{ACCOUNT}:stateMachine:{name}" for name in ("ours", "theirs")
    }
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    for name in machines:
        made = {"name": name, "definition": definition, "roleArn": aws.role(f"of-{name}")}
        aws.call("stepfunctions", "create_state_machine", **made)
    reader = role(aws, "reader", allow("states:ListExecutions", machines["ours"]))
    before = RECORD.not_judged.total()

    found = aws.call("stepfunctions", "list_executions", role=reader, stateMachineArn=machines["ours"])

    assert found["executions"] == []
    with pytest.raises(ClientError, match="is not authorized to perform: states:ListExecutions"):
        aws.call("stepfunctions", "list_executions", role=reader, stateMachineArn=machines["theirs"])
    assert RECORD.not_judged.total() == before


def test_a_condition_that_nobody_here_can_tell_is_not_met_and_is_counted(aws):
    table(aws)
    before = RECORD.not_judged.total()
    here = {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    with pytest.raises(ClientError, match="is not authorized"):
        write(aws, role(aws, "writer", allow("dynamodb:PutItem", "*", **here)))
    assert RECORD.not_judged.total() == before + 1


def test_who_may_put_may_put_in_a_transaction_and_who_may_update_may_not(aws):
    table(aws)
    with pytest.raises(ClientError, match="not authorized to perform: dynamodb:PutItem"):
        transact(aws, aws.role("updater", "dynamodb:UpdateItem"))
    transact(aws, aws.role("writer", "dynamodb:PutItem"))
    assert aws.call("dynamodb", "get_item", TableName="ledger", Key={"pk": {"S": "a"}})["Item"]


def test_the_account_s_own_key_belongs_to_a_person(aws):
    assert aws.call("sts", "get_caller_identity")["Arn"].endswith(":user/instructor")


def test_whoever_signs_nothing_gets_an_answer_of_aws_and_its_time(aws):
    with urllib.request.urlopen(aws.embedded.endpoint, timeout=HANG_SECONDS) as answer:
        assert answer.status == 200
        assert answer.headers["Date"]
