"""A lab with NodePools in an account whose organisation refuses every role without its permissions boundary."""

import json

import pytest

from lamplighter.errors import OutsideFailed
from local.aws.iam import ACCOUNT
from local.cloud import Cloud
from tests.scenarios.deployed_lab import deployed_lab

pytestmark = pytest.mark.long

THEIRS = f"arn:aws:iam::{ACCOUNT}:policy/organisation-boundary"
#: What the organisation must except, for the failsafe: a lab with node groups alone has no such role.
OWN = [
    f"arn:aws:iam::{ACCOUNT}:policy/bound-ap-northeast-2-{role}" for role in ("karpenter", "failsafe-machine")
]
LAB = f"""
name: bound
cluster: {{karpenter: {{version: 1.14.3}}}}
pools: {{gpu: {{kind: karpenter}}}}
permissions_boundary: {THEIRS}
"""


def demanding(*boundaries: str):
    """What the organisation has made in the account before the lab."""

    def found(cloud: Cloud) -> None:
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        request = {"PolicyName": "organisation-boundary", "PolicyDocument": document}
        cloud.aws.around.call("iam", "create_policy", request)
        cloud.aws.moto_additions.organisation.demand_boundary(*boundaries)

    return found


def test_the_lab_is_deployed(tmp_path_factory):
    with deployed_lab(tmp_path_factory, LAB, found=demanding(THEIRS, *OWN)) as cloud:
        roles = cloud.aws.around.call("iam", "list_roles", {})["Roles"]
        assert any(role["RoleName"] == "bound-ap-northeast-2-guard" for role in roles)


def test_without_the_exception_it_is_refused_by_iam(tmp_path_factory):
    with (
        pytest.raises(
            OutsideFailed, match=r"iam:CreateRole .* with an explicit deny in a service control policy"
        ),
        deployed_lab(tmp_path_factory, LAB, found=demanding(THEIRS)),
    ):
        pass
