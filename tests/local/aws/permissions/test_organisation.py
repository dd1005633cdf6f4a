"""What a service control policy denies, nobody in the account may do, whatever the account's policies allow.

Sources: Organizations user guide, "SCP evaluation"; IAM user guide, "Permissions boundaries for IAM entities".
"""

import json

import pytest
from botocore.exceptions import ClientError

from local.stack_template import StackTemplate
from tests.local.aws.permissions.test_iam import allow

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}
DENIED = "with an explicit deny in a service control policy"


@pytest.fixture
def boundary(aws) -> str:
    """The organisation's, which it demands of every role."""
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow("*")]})
    arn = aws.call("iam", "create_policy", PolicyName="theirs", PolicyDocument=document)["Policy"]["Arn"]
    aws.embedded.moto_additions.organisation.demand_boundary(arn)
    return arn


def stack(aws, boundary: str | None):
    properties = {"RoleName": "guard", "AssumeRolePolicyDocument": TRUST}
    if boundary is not None:
        properties["PermissionsBoundary"] = boundary
    role = {"Type": "AWS::IAM::Role", "Properties": properties}
    return aws.embedded.deploy(StackTemplate("lab", json.dumps({"Resources": {"Role": role}}), {}))


def test_the_administrator_makes_no_role_without_the_boundary(aws, boundary):
    request = {"RoleName": "guard", "AssumeRolePolicyDocument": json.dumps(TRUST)}
    with pytest.raises(ClientError, match=DENIED) as refused:
        aws.call("iam", "create_role", **request)
    assert refused.value.response["Error"]["Code"] == "AccessDenied"
    with pytest.raises(ClientError, match=DENIED):
        aws.call(
            "iam", "create_role", **request, PermissionsBoundary="arn:aws:iam::aws:policy/ReadOnlyAccess"
        )
    aws.call("iam", "create_role", **request, PermissionsBoundary=boundary)
    with pytest.raises(ClientError, match=DENIED):
        aws.call(
            "iam",
            "put_role_permissions_boundary",
            RoleName="guard",
            PermissionsBoundary="arn:aws:iam::aws:policy/ReadOnlyAccess",
        )


def test_a_boundary_exists(aws):
    missing = "arn:aws:iam::123456789012:policy/missing"
    request = {"RoleName": "guard", "AssumeRolePolicyDocument": json.dumps(TRUST)}
    words = f"NoSuchEntity.* Scope ARN: {missing} does not exist or is not attachable"
    with pytest.raises(ClientError, match=words):
        aws.call("iam", "create_role", **request, PermissionsBoundary=missing)


def test_a_stack_with_a_role_without_it_fails(aws, boundary):
    assert DENIED in stack(aws, None).failure()
    assert stack(aws, boundary).status == "CREATE_COMPLETE"


def test_a_role_gets_its_boundary_in_place_and_loses_it(aws):
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow("*")]})
    arn = aws.call("iam", "create_policy", PolicyName="theirs", PolicyDocument=document)["Policy"]["Arn"]

    def attached() -> str | None:
        role = aws.call("iam", "get_role", RoleName="guard")["Role"]
        return role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn")

    for given in (None, arn, None):
        stack(aws, given)
        assert attached() == given
