"""A lab in an account whose organisation refuses every role without its permissions boundary."""

import json

import pytest

from lamplighter.errors import OutsideFailed
from local.aws.iam import ACCOUNT
from local.cloud import Cloud
from tests.scenarios.deployed_lab import deployed_lab

pytestmark = pytest.mark.long

THEIRS = f"arn:aws:iam::{ACCOUNT}:policy/organisation-boundary"
OWN = [
    f"arn:aws:iam::{ACCOUNT}:policy/bound-ap-northeast-2-{role}" for role in ("karpenter", "failsafe-machine")
]
NODE_GROUP = "name: bound\n"
NODE_POOL = """
name: bound
cluster: {karpenter: {version: 1.14.3}}
pools: {gpu: {kind: karpenter}}
"""
WITH_KEY = f"permissions_boundary: {THEIRS}\n"


def demanding(*boundaries: str):
    """What the organisation has made in the account before the lab."""

    def found(cloud: Cloud) -> None:
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        request = {"PolicyName": "organisation-boundary", "PolicyDocument": document}
        cloud.aws.around.call("iam", "create_policy", request)
        cloud.aws.moto_additions.organisation.demand_boundary(*boundaries)

    return found


@pytest.mark.parametrize(
    ("lab", "boundaries"),
    [(NODE_GROUP, [THEIRS]), (NODE_POOL, [THEIRS, *OWN])],
    ids=["node-group", "node-pool"],
)
def test_a_lab_with_the_key_is_deployed(tmp_path_factory, lab, boundaries):
    with deployed_lab(tmp_path_factory, lab + WITH_KEY, found=demanding(*boundaries)) as cloud:
        roles = cloud.aws.around.call("iam", "list_roles", {})["Roles"]
        assert any(role["RoleName"] == "bound-ap-northeast-2-guard" for role in roles)


@pytest.mark.parametrize("lab", [NODE_GROUP, NODE_POOL + WITH_KEY], ids=["no key", "no exception"])
def test_another_lab_is_refused_by_iam(tmp_path_factory, lab):
    with (
        pytest.raises(
            OutsideFailed, match=r"iam:CreateRole .* with an explicit deny in a service control policy"
        ),
        deployed_lab(tmp_path_factory, lab, found=demanding(THEIRS)),
    ):
        pass
