"""What a live diagnosis of a NodePool reads beside the rest: its kinds of object, the bar, Karpenter, and the lock."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.diagnosis.aws import read_node_pool
from lamplighter.adapters.diagnosis.kubernetes import NODE_CLASSES
from lamplighter.adapters.diagnosis.logs import read_logs
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.diagnosis.subject import Subject
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool.lock import document
from lamplighter.domain.diagnosis.expected import Expected
from lamplighter.lab.model import Lab
from tests.node_pool_snapshots import NODE_POOL, karpenter, node_class, node_pool
from tests.snapshots import pod, waiting
from tests.unit.diagnosis.test_collect import Server, names, reads

CONTROLLER = pod("karpenter-5f9c", "kube-system", None)
BAR = {
    "metadata": {"name": NODE_POOL, "namespace": "lamplighter"},
    "data": {"notAfter": "2026-11-20T11:00:00Z"},
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EC2_NODE_CLASSES, NODE_CLASSES_OF_EKS = NODE_CLASSES["karpenter"], NODE_CLASSES["auto-mode"]


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.lists |= {
        "/apis/karpenter.sh/v1/nodepools": [node_pool(), node_pool("other")],
        EC2_NODE_CLASSES: [node_class()],
        NODE_CLASSES_OF_EKS: [node_class(name="auto")],
        "/apis/apps/v1/deployments": [karpenter(), {"metadata": {"name": "web"}}],
        "/api/v1/pods": [CONTROLLER, pod("web", "default", None)],
    }
    made.answers |= {
        f"{DEFINITIONS}/nodepools.karpenter.sh": (
            200,
            {"metadata": {"name": "nodepools.karpenter.sh"}, "spec": {}},
        ),
        f"/api/v1/namespaces/lamplighter/configmaps/{NODE_POOL}": (200, BAR),
    }
    yield made
    made.http.shutdown()
    made.http.server_close()


def test_a_node_pool_is_read_with_its_class_the_bar_and_karpenter(server: Server) -> None:
    reading = Reading(30)
    cluster = reads(server, reading)
    cluster.read()
    found = cluster.read_node_pool(EC2_NODE_CLASSES, NODE_POOL)

    assert names(found["nodepools"]) == [NODE_POOL, "other"]
    assert names(found["ec2nodeclasses"]) == [NODE_POOL]
    assert "nodeclasses" not in found
    assert found["customresourcedefinitions"] == [{"metadata": {"name": "nodepools.karpenter.sh"}}]
    assert found["configmaps"] == [BAR]
    assert names(found["deployments"]) == ["karpenter"]
    assert names(found["pods"]) == ["karpenter-5f9c"]


def test_the_class_of_auto_mode_is_another_kind(server: Server) -> None:
    found = reads(server, Reading(30)).read_node_pool(NODE_CLASSES_OF_EKS, "")
    assert names(found["nodeclasses"]) == ["auto"]
    assert found["configmaps"] == []


def test_a_kind_that_could_not_be_asked_for_is_not_called_absent(server: Server) -> None:
    server.answers[f"{DEFINITIONS}/nodeclaims.karpenter.sh"] = (500, {"message": "etcd is away"})
    reading = Reading(30)
    found = reads(server, reading).read_node_pool(EC2_NODE_CLASSES, "")

    assert "customresourcedefinitions" not in found
    assert "etcd is away" in str(reading.not_read["kubernetes.customresourcedefinitions"])


def test_the_log_of_a_healthy_karpenter_is_read_too(server: Server) -> None:
    crashed = waiting(CONTROLLER, "CrashLoopBackOff", restarts=4)
    crashed["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1}}
    reading = Reading(30)
    ask = reads(server, reading).ask

    assert list(read_logs(ask, reading, [CONTROLLER])["logs"]) == ["kube-system/karpenter-5f9c/main"]
    assert list(read_logs(ask, reading, [crashed])["logs_previous"]) == ["kube-system/karpenter-5f9c/main"]


LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "region": "ap-northeast-2",
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "pools": {"gpu": {"kind": "karpenter"}},
}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    with mock_aws():
        yield


@pytest.mark.usefixtures("account")
def test_in_aws_a_node_pool_is_its_instances_their_networks_and_the_policies_of_the_role() -> None:
    ec2: Any = boto3.client("ec2")
    iam, lab = boto3.client("iam"), Lab.model_validate(LAB)
    for value in (NODE_POOL, "other"):
        tags = [
            {"Key": "karpenter.sh/nodepool", "Value": value},
            {"Key": "eks:eks-cluster-name", "Value": "gpu-lab"},
        ]
        ec2.run_instances(
            ImageId="ami-0aaa", MinCount=1, MaxCount=1, InstanceType="g5.xlarge",
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )  # fmt: skip
    iam.create_role(RoleName="controller", AssumeRolePolicyDocument="{}")
    lock = json.dumps(document(identity(lab, "gpu").tags))
    iam.put_role_policy(RoleName="controller", PolicyName="lamplighter-lock-gpu", PolicyDocument=lock)
    wanted = Expected("gpu", "g5.xlarge", 1, 1, datetime(2026, 11, 20, 11, tzinfo=UTC))
    subject = Subject("karpenter", identity(lab, "gpu"), wanted, "controller", NODE_POOL)

    reading = Reading(30)
    found = read_node_pool(reading, subject)

    assert [{tag["Value"] for tag in one["Tags"]} for one in found["instances"]] == [
        {NODE_POOL, lab.cluster_name}
    ]
    assert found["controller_policies"] == {"PolicyNames": ["lamplighter-lock-gpu"]}
    assert len(found["subnets"]) == 1
    assert not {"nodegroup", "scaling_activities"} & found.keys()
    assert not {"aws.nodegroup", "aws.scaling_activities"} & reading.not_read.keys()
