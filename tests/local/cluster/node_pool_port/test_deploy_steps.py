"""What a deploy asks about NodePools: the size that they have, and whether their launch bar refuses claims."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamplighter.application import environment
from lamplighter.application.capacity import services
from lamplighter.application.deploy.kinds import STEPS
from lamplighter.application.deploy.node_pool import trial
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.capacity.node_pool.roles import launching_role
from lamplighter.errors import OutsideFailed
from tests.builders.leases import MINUTE
from tests.local.cluster.lab import await_true
from tests.local.cluster.node_pool_port.stage import LAB, NAME, PATHS, NodePoolStage, install
from tests.steady.hang import await_value

BINDING = f"{PATHS['ValidatingAdmissionPolicyBinding']}/lab-gpu"


@pytest.fixture
def deployed(
    stage: NodePoolStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NodePoolStage]:
    """The same stage as a deploy finds it: EKS has the cluster, and there is no ledger yet."""
    aws = stage.aws
    vpc = aws.call("ec2", "create_vpc", CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        aws.call("ec2", "create_subnet", VpcId=vpc, CidrBlock=block, AvailabilityZone=f"ap-northeast-2{zone}")
        for zone, block in (("a", "192.168.8.0/22"), ("b", "192.168.12.0/22"))
    ]
    authority = base64.b64encode(stage.authority.encode()).decode()
    aws.embedded.moto_additions.control_plane(stage.endpoint, authority)
    aws.call(
        "eks",
        "create_cluster",
        name="lab",
        version="1.35",
        roleArn=aws.role("cluster"),
        resourcesVpcConfig={"subnetIds": [each["Subnet"]["SubnetId"] for each in subnets]},
    )
    (tmp_path / "lab.json").write_text(LAB.to_json(), "utf-8")
    monkeypatch.setenv("LAB_FILE", str(tmp_path / "lab.json"))
    monkeypatch.setenv("LEDGER_TABLE", "lab-ledger")
    await_true(
        lambda: aws.call("eks", "describe_cluster", name="lab")["cluster"]["status"] == "ACTIVE",
        "EKS has the cluster",
    )
    yield stage
    services.deployed.cache_clear()
    environment.lab.cache_clear()


def asks(kind: str, request: str = "Update", **properties: str) -> CloudFormationResponse:
    given = {"Kind": kind, "Cluster": "lab", "Digest": "1", **properties}
    return STEPS[kind]({"RequestType": request, "ResourceProperties": given})


def test_a_deploy_is_told_the_replicas_that_the_node_pool_has(deployed: NodePoolStage) -> None:
    deployed.capacity.order("gpu", 2, deployed.capacity.see("gpu"))

    answer = asks("NodePoolSize", Pool="gpu", NodePool=NAME)

    assert (answer.physical_id, answer.data) == (f"size-of-lab/{NAME}", {"Replicas": "2"})


def test_a_node_pool_that_does_not_exist_yet_begins_at_zero(deployed: NodePoolStage) -> None:
    assert asks("NodePoolSize", "Create", Pool="other", NodePool="lab-other").data == {"Replicas": "0"}


@pytest.mark.parametrize("minutes", [-1, 60], ids=["shut", "while a lease runs"])
def test_a_bar_that_stands_lets_a_deploy_go_on(deployed: NodePoolStage, minutes: int) -> None:
    deployed.capacity.bar("gpu", deployed.now() + minutes * MINUTE)

    assert asks("LaunchBar", Pools="gpu,other").physical_id == "launch-bar-1"


@pytest.mark.parametrize("minutes", [-1, 60], ids=["shut", "while a lease runs"])
def test_a_bar_that_refuses_nothing_fails_the_deploy(
    deployed: NodePoolStage, minutes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "ACTS_WITHIN_SECONDS", 3.0)
    deployed.capacity.bar("gpu", deployed.now() + minutes * MINUTE)
    deployed.kubernetes.delete(BINDING)
    await_value("the API server forgets the binding", lambda: deployed.admitted(ends=False))

    with pytest.raises(OutsideFailed, match="lab-launch-bar refuses nothing"):
        asks("LaunchBar", Pools="gpu")

    install(deployed.kubernetes)


def test_a_deletion_asks_nothing(deployed: NodePoolStage) -> None:
    assert asks("LaunchBar", "Delete", Pools="gpu").reason is None
    assert asks("NodePoolSize", "Delete", Pool="gpu", NodePool=NAME).data in (None, {})


def test_with_its_node_pool_the_lock_of_a_failsafe_goes(deployed: NodePoolStage) -> None:
    """IAM deletes no role that still has it: a destroy after a failsafe that fired would fail."""
    role, policy = str(launching_role(LAB, "gpu")), lock.policy_name(NAME)
    document = json.dumps(lock.document({"karpenter.sh/nodepool": NAME}))
    deployed.aws.call("iam", "put_role_policy", RoleName=role, PolicyName=policy, PolicyDocument=document)

    asks("NodePoolSize", "Delete", Pool="gpu", NodePool=NAME, Launches=role)

    assert policy not in deployed.aws.call("iam", "list_role_policies", RoleName=role)["PolicyNames"]
    # A destroy that is tried again finds no lock, and perhaps no role.
    for name in (role, "gone"):
        assert asks("NodePoolSize", "Delete", Pool="gpu", NodePool=NAME, Launches=name).reason is None
