"""The real controller with machines that boot: a node from its user data, and the end of its instance."""

import json

import pytest

from tests.local.cluster.karpenter import node_pool
from tests.local.cluster.karpenter.conftest import ROLE, Karpenter
from tests.local.cluster.lab import await_true

pytestmark = pytest.mark.long
pool = node_pool.pool
FINALIZER = "karpenter.sh/termination"


@pytest.fixture(scope="module")
def booting(pool: Karpenter, fleet):
    """The machines of EC2 are those of the cluster, and Karpenter hears of their states through its queue."""
    additions = pool.aws.embedded.moto_additions
    additions.fleet(fleet)
    fleet.network.admits = additions.self_managed.admits
    url = pool.aws.call("sqs", "get_queue_url", QueueName=ROLE)["QueueUrl"]
    asked = {"QueueUrl": url, "AttributeNames": ["QueueArn"]}
    arn = pool.aws.call("sqs", "get_queue_attributes", **asked)["Attributes"]["QueueArn"]
    sent = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn}
    sent["Principal"] = {"Service": "events.amazonaws.com"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [sent]})
    pool.aws.call("sqs", "set_queue_attributes", QueueUrl=url, Attributes={"Policy": policy})
    pattern = json.dumps({"source": ["aws.ec2"]})
    pool.aws.call("events", "put_rule", Name="karpenter", EventPattern=pattern)
    pool.aws.call("events", "put_targets", Rule="karpenter", Targets=[{"Id": "1", "Arn": arn}])
    yield pool
    node_pool.scale(pool, 0)
    await_true(lambda: not claims(pool), "no claim is left")
    fleet.network.admits = lambda _: True


def claims(pool: Karpenter) -> list[dict]:
    return pool.lab.kubernetes.get(node_pool.CLAIMS)["items"]


def node(pool: Karpenter, claim: dict) -> dict | None:
    return pool.lab.kubernetes.find(f"/api/v1/nodes/{claim['status'].get('nodeName', '')}")


def initialized(pool: Karpenter, *, beside: str = "") -> dict:
    """A claim that is initialized, other than the named one."""
    node_pool.scale(pool, 1)

    def found():
        ready = [one for one in claims(pool) if node_pool.condition(one, "Initialized") == "True"]
        return next((one for one in ready if one["metadata"]["name"] != beside), None)

    return await_true(found, "a NodeClaim is initialized")


def test_karpenter_registers_the_node_that_its_user_data_made(booting: Karpenter) -> None:
    claim = initialized(booting)

    found = node(booting, claim)
    assert found is not None
    assert FINALIZER in found["metadata"]["finalizers"]
    assert found["metadata"]["labels"]["karpenter.sh/nodepool"] == node_pool.NAME
    assert [one["key"] for one in found["spec"]["taints"]] == ["nvidia.com/gpu"]
    assert claim["status"]["capacity"]["memory"] != "0"


def test_an_instance_that_somebody_ends_is_replaced_and_its_objects_go(booting: Karpenter) -> None:
    claim = initialized(booting)
    instance = claim["status"]["providerID"].rpartition("/")[2]

    booting.aws.call("ec2", "terminate_instances", InstanceIds=[instance])

    name = claim["metadata"]["name"]
    address = f"{node_pool.CLAIMS}/{name}"
    await_true(
        lambda: not booting.lab.kubernetes.find(address),
        "the queue has told Karpenter, and the claim is gone",
    )
    assert node(booting, claim) is None
    assert initialized(booting, beside=name)
