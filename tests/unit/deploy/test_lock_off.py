"""The failsafe's lock on the role of somebody else's controller goes with the lab, or the destroy says how."""

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws
from moto.core.exceptions import ServiceException
from moto.iam.models import IAMBackend

from lamplighter.application.deploy.kinds import STEPS
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.domain.capacity.node_pool import lock
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import in_english

ROLE, NODE_POOL = "TheirKarpenter", "their-gpus"
POLICY = lock.policy_name(NODE_POOL)


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account with the controller's role, which has the lock and a policy of its owner."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    with mock_aws():
        iam = boto3.client("iam")
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")
        for name in (POLICY, "theirs"):
            document = json.dumps(lock.document({"karpenter.sh/nodepool": NODE_POOL}))
            iam.put_role_policy(RoleName=ROLE, PolicyName=name, PolicyDocument=document)
        yield


def asks(request: str, role: str = ROLE) -> CloudFormationResponse:
    properties = {"Kind": "NodePoolLock", "NodePool": NODE_POOL, "Launches": role}
    return STEPS["NodePoolLock"]({"RequestType": request, "ResourceProperties": properties})


def policies() -> list[str]:
    return boto3.client("iam").list_role_policies(RoleName=ROLE)["PolicyNames"]


def test_a_destroy_takes_the_lock_off_and_nothing_else() -> None:
    assert asks("Delete").reason is None

    assert policies() == ["theirs"]
    # A destroy that is tried again finds no lock, and perhaps no role.
    assert asks("Delete").reason is None
    assert asks("Delete", role="gone").reason is None


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_a_deploy_leaves_the_lock_of_a_failsafe_that_fired(request_type: str) -> None:
    assert asks(request_type).physical_id == f"lock-of-{NODE_POOL}-on-{ROLE}"
    assert set(policies()) == {POLICY, "theirs"}


def test_a_lock_that_stays_fails_the_destroy_with_the_command_that_takes_it_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise ServiceException("AccessDenied", "an organisation denies it")

    monkeypatch.setattr(IAMBackend, "delete_role_policy", refuse)

    with pytest.raises(OutsideFailed) as failed:
        asks("Delete")

    command = f"aws iam delete-role-policy --role-name {ROLE} --policy-name {POLICY}"
    assert command in in_english(failed.value.said)
