"""Policies have the lengths that AWS allows, and no more.

Sources: IAM user guide, "IAM and AWS STS quotas"; Amazon SQS developer guide, "Quotas related to policies"; for words
https://github.com/aws/aws-cdk/issues/12403 and
https://github.com/ministryofjustice/cloud-platform-environments/pull/14473.
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.permissions.test_iam import allow

QUEUE = "arn:aws:sqs:ap-northeast-2:123456789012:letters"


def document(characters: int, **dumped) -> str:
    """A policy of so many characters, white space not counted."""

    def of(resource: str) -> dict:
        return {"Version": "2012-10-17", "Statement": [allow("s3:GetObject", resource)]}

    short = len(json.dumps(of("arn:aws:s3:::"), separators=(",", ":")))
    policy = of("arn:aws:s3:::" + "x" * (characters - short))
    return json.dumps(policy, **(dumped or {"separators": (",", ":")}))


def refused(aws, service: str, operation: str, **request) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        aws.call(service, operation, **request)
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


def test_the_inline_policies_of_a_role_are_counted_together_and_without_white_space(aws):
    aws.role("guard")
    aws.call("iam", "delete_role_policy", RoleName="guard", PolicyName="may")
    put = {"RoleName": "guard", "PolicyName": "one"}
    aws.call("iam", "put_role_policy", **put, PolicyDocument=document(10_000, indent=8))
    second = {"RoleName": "guard", "PolicyName": "two"}
    aws.call("iam", "put_role_policy", **second, PolicyDocument=document(240))
    words = ("LimitExceeded", "Maximum policy size of 10240 bytes exceeded for role guard")
    assert refused(aws, "iam", "put_role_policy", **second, PolicyDocument=document(241)) == words
    # A policy in place of another one counts once.
    aws.call("iam", "put_role_policy", **put, PolicyDocument=document(9_999))
    aws.call("iam", "put_role_policy", **second, PolicyDocument=document(241))


def test_a_managed_policy_and_its_versions_have_a_length_of_their_own(aws):
    words = ("LimitExceeded", "Cannot exceed quota for PolicySize: 6144")
    assert refused(aws, "iam", "create_policy", PolicyName="p", PolicyDocument=document(6_145)) == words
    made = aws.call("iam", "create_policy", PolicyName="p", PolicyDocument=document(6_144, indent=4))
    arn = made["Policy"]["Arn"]
    request = {"PolicyArn": arn, "PolicyDocument": document(6_145)}
    assert refused(aws, "iam", "create_policy_version", **request) == words


def test_a_role_has_ten_managed_policies(aws):
    aws.role("guard")
    arns = [
        aws.call("iam", "create_policy", PolicyName=f"p{number}", PolicyDocument=document(200))["Policy"][
            "Arn"
        ]
        for number in range(11)
    ]
    for arn in [*arns[:10], arns[0]]:
        aws.call("iam", "attach_role_policy", RoleName="guard", PolicyArn=arn)
    words = ("LimitExceeded", "Cannot exceed quota for PoliciesPerRole: 10")
    assert refused(aws, "iam", "attach_role_policy", RoleName="guard", PolicyArn=arns[10]) == words


def test_a_role_s_trust_has_a_length(aws):
    aws.role("guard")
    services = [f"{'s' * 90}{number:02}.amazonaws.com" for number in range(20)]
    trust = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sts:AssumeRole"}
    long = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    words = ("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: 2048")
    request = {"RoleName": "other", "AssumeRolePolicyDocument": long}
    assert refused(aws, "iam", "create_role", **request) == words
    request = {"RoleName": "guard", "PolicyDocument": long}
    assert refused(aws, "iam", "update_assume_role_policy", **request) == words


def test_a_queue_s_policy_has_twenty_statements_and_eight_kibibytes(aws):
    url = aws.call("sqs", "create_queue", QueueName="letters")["QueueUrl"]

    def attributes(statements: int, letters: int = 0) -> dict[str, str]:
        sent = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": QUEUE}
        written = [{"Sid": f"s{number}{'x' * letters}", **sent} for number in range(statements)]
        return {"Policy": json.dumps({"Version": "2012-10-17", "Statement": written})}

    aws.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes=attributes(20))
    for many, letters, words in (
        (21, 0, "21 statements were found in the submitted policy, max allowed is 20"),
        (20, 300, "Submitted policy is over max allowed size."),
    ):
        request = {"QueueUrl": url, "Attributes": attributes(many, letters)}
        assert refused(aws, "sqs", "set_queue_attributes", **request) == ("OverLimit", words)
