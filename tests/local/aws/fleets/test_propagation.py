"""A policy that a session changes acts some seconds later; a read shows it at once.

Source: IAM user guide, "Changes that I make are not always immediately visible".
"""

import json

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import FleetLab
from tests.local.aws.fleets.test_rights import ALL, LOCK, allow, put

KARPENTER = "arn:aws:iam::123456789012:role/karpenter"


@pytest.fixture
def lab(aws):
    aws.hold()
    lab = FleetLab(aws)
    aws.role("karpenter")
    put(lab, "may", *ALL)
    aws.role("failsafe")
    rights = allow(["iam:PutRolePolicy", "iam:DeleteRolePolicy"], KARPENTER)
    document = json.dumps({"Version": "2012-10-17", "Statement": [rights]})
    aws.call("iam", "put_role_policy", RoleName="failsafe", PolicyName="lock", PolicyDocument=document)
    return lab


def failsafe(lab, operation, **more):
    role = "arn:aws:iam::123456789012:role/failsafe"
    lab.aws.call("iam", operation, role=role, RoleName="karpenter", PolicyName="lock", **more)


def lock(lab):
    failsafe(
        lab, "put_role_policy", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [LOCK]})
    )


def launches(lab):
    try:
        lab.fleet(role=KARPENTER, DryRun=True)
    except ClientError as error:
        return error.response["Error"]["Code"] == "DryRunOperation"
    raise AssertionError("a dry run always ends with an error")


def test_a_lock_acts_and_goes_some_seconds_later(lab):
    assert launches(lab)
    lock(lab)
    assert lab.aws.call("iam", "list_role_policies", RoleName="karpenter")["PolicyNames"] == ["may", "lock"]
    assert launches(lab)
    lab.clock.sleep(3)
    assert not launches(lab)

    failsafe(lab, "delete_role_policy")
    assert not launches(lab)
    lab.clock.sleep(3)
    assert launches(lab)


def test_a_slow_iam_keeps_the_order_of_the_changes(lab):
    lab.moto_additions.propagation.seconds = 60
    lock(lab)
    lab.clock.sleep(30)
    failsafe(lab, "delete_role_policy")
    assert launches(lab)
    lab.clock.sleep(31)
    assert not launches(lab)
    lab.clock.sleep(30)
    assert launches(lab)


def test_a_change_by_a_person_acts_at_once(lab):
    put(lab, "lock", LOCK)
    assert not launches(lab)
