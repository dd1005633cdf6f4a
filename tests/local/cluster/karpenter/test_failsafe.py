"""The failsafe's machine and the real Karpenter: what the one orders the other does, and what a dead one leaves.

The lab's time is the machine's here, so a run takes its minutes.
"""

import json
from dataclasses import replace

import boto3
import pytest

from local.kubernetes.aws_identities import AwsIdentities
from local.kubernetes.control_plane import ControlPlane
from local.stack_template import StackTemplate
from tests import failsafe_machine
from tests.local.cluster.karpenter.conftest import PODS, ROLE, Karpenter
from tests.local.cluster.karpenter.node_pool import CLAIMS, NAME, POOLS, pool  # noqa: F401 (a fixture)
from tests.local.cluster.lab import await_true
from tests.local.cluster.test_failsafe_machine import LOCK, MACHINE, let_the_machine_in
from tests.local.cluster.test_token_webhook import CLUSTER, REGION

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def failsafe(pool: Karpenter, control_plane: ControlPlane) -> Karpenter:  # noqa: F811
    """The NodePool, with the machine beside it, which the cluster knows by its access entry."""
    # This role is not the lab's, so it has no boundary of the lab.
    ended = replace(failsafe_machine.KARPENTER, locked=ROLE, boundary=None)
    assert ended.node_pool == NAME
    text = json.dumps(failsafe_machine.template((ended,)))
    stack = pool.aws.embedded.deploy(StackTemplate("failsafe", text, {}))
    assert stack.status == "CREATE_COMPLETE", stack.failure
    around = pool.aws.embedded.around
    session = boto3.Session(around.access_key_id, around.secret_access_key, region_name=REGION)
    control_plane.authenticate_through(AwsIdentities(around.endpoint, CLUSTER, session))
    let_the_machine_in(pool.lab.kubernetes)
    return pool


def run(failsafe: Karpenter, rail: str) -> dict:
    given = json.dumps({"pool": "gpu", "rail": rail})
    aws = failsafe.aws
    started = aws.call("stepfunctions", "start_execution", stateMachineArn=MACHINE, input=given)
    aws.embedded.moto_additions.wait_for_execution(started["executionArn"])
    aws.clock.sleep(2)
    return aws.call("stepfunctions", "describe_execution", executionArn=started["executionArn"])


def instances(failsafe: Karpenter) -> list[str]:
    """Those of the pool that are not terminated."""
    wanted = [
        {"Name": "tag:karpenter.sh/nodepool", "Values": [NAME]},
        {
            "Name": "instance-state-name",
            "Values": ["pending", "running", "shutting-down", "stopping", "stopped"],
        },
    ]
    found = failsafe.aws.call("ec2", "describe_instances", Filters=wanted)["Reservations"]
    return [instance["InstanceId"] for each in found for instance in each["Instances"]]


def replicas(failsafe: Karpenter) -> int:
    return failsafe.lab.kubernetes.get(f"{POOLS}/{NAME}")["spec"]["replicas"]


def locked(failsafe: Karpenter) -> bool:
    return LOCK in failsafe.aws.call("iam", "list_role_policies", RoleName=ROLE)["PolicyNames"]


def scale(failsafe: Karpenter, wanted: int) -> None:
    failsafe.lab.kubernetes.merge(f"{POOLS}/{NAME}", {"spec": {"replicas": wanted}})


def test_a_living_karpenter_does_what_the_first_rail_orders(failsafe: Karpenter) -> None:
    scale(failsafe, 1)
    await_true(lambda: instances(failsafe), "an instance was launched")

    ended = run(failsafe, "kubernetes")

    assert ended["status"] == "SUCCEEDED"
    assert (instances(failsafe), replicas(failsafe), locked(failsafe)) == ([], 0, False)
    await_true(lambda: not failsafe.lab.kubernetes.get(CLAIMS)["items"], "the claim is gone")


def test_the_rail_past_kubernetes_ends_what_a_dead_karpenter_left(failsafe: Karpenter) -> None:
    scale(failsafe, 1)
    await_true(lambda: instances(failsafe), "an instance was launched")
    failsafe.scale(0)
    await_true(lambda: not failsafe.lab.kubernetes.get(PODS)["items"], "Karpenter has no pod")

    ended = run(failsafe, "ec2")

    assert (ended["status"], instances(failsafe)) == ("SUCCEEDED", [])
    # Nobody has told the NodePool. A Karpenter that returns wants its node back, and the lock refuses it.
    assert (replicas(failsafe), locked(failsafe)) == (1, True)
    scale(failsafe, 0)
    failsafe.scale(1)
    failsafe.await_ready()
    await_true(lambda: not failsafe.lab.kubernetes.get(CLAIMS)["items"], "Karpenter lets the claim go")
    failsafe.aws.call("iam", "delete_role_policy", RoleName=ROLE, PolicyName=LOCK)
    assert instances(failsafe) == []
