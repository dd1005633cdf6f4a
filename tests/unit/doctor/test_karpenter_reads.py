"""What the doctor reads for labs with NodePools: each fact as AWS and Kubernetes give it, or why it was not read."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from lamplighter.adapters.capacity.node_pool.karpenter import controllers_of
from lamplighter.adapters.doctor.karpenter import KarpenterReading
from lamplighter.adapters.kubernetes.connection import Forbidden, KubernetesResponse
from lamplighter.domain.doctor.karpenter_facts import BarState, KarpenterFacts, NodePoolFacts
from lamplighter.domain.doctor.line import Unread
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.node_pool_snapshots import node_class, node_pool

CALLER = "arn:aws:iam::123456789012:user/alice"
ROLE = "gpu-lab-ap-northeast-2-karpenter"
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "region": "ap-northeast-2",
    "cluster": {"karpenter": {"version": "1.14.3"}},
    "pools": {"gpu": {"kind": "karpenter"}},
}
NODE_POOL = "/apis/karpenter.sh/v1/nodepools/gpu-lab-gpu"
NODE_CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/gpu-lab-gpu"
BAR = "/api/v1/namespaces/lamplighter/configmaps/gpu-lab-gpu"
DENIED = "ValidatingAdmissionPolicy 'gpu-lab-launch-bar' with binding 'gpu-lab-gpu' denied request: lamplighter: no"
NOW = datetime(2026, 11, 20, 11, tzinfo=UTC)


def deployment(**environment: str) -> dict[str, Any]:
    env = [{"name": name, "value": value} for name, value in environment.items()]
    container = {"image": "public.ecr.aws/karpenter/controller:1.14.3@sha256:00", "env": env}
    return {
        "metadata": {"namespace": "kube-system", "name": "karpenter"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container]}}},
        "status": {
            "availableReplicas": 1,
            "conditions": [
                {"type": "Available", "status": "False", "message": "no minimum availability"},
                {"type": "Progressing", "status": "True", "message": "fine"},
                {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"},
            ],
        },
    }


class Cluster:
    """A cluster's API server. `claims` is what it answers to a claim that it does not keep."""

    server_time = NOW

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {NODE_POOL: node_pool(), NODE_CLASS: node_class(role="nodes")}
        self.deployments = [
            deployment(FEATURE_GATES="A=false,StaticCapacity=true", INTERRUPTION_QUEUE="lab-queue")
        ]
        self.absent: set[str] = set()
        self.pods: list[Any] | Exception = []
        self.claims: KubernetesResponse | Exception = KubernetesResponse(422, f'{{"message": "{DENIED}"}}')
        self.asked: list[tuple[dict[str, Any], dict[str, str]]] = []

    def get(self, path: str) -> Any:
        return self.objects.get(path, {})

    def list(self, path: str, **query: str) -> list[Any]:
        if path == "/api/v1/namespaces/kube-system/pods":
            assert query == {"labelSelector": "app=karpenter"}
            if isinstance(self.pods, Exception):
                raise self.pods
            return self.pods
        assert path == "/apis/apps/v1/deployments"
        return self.deployments

    def ask(self, method: str, path: str, **more: Any) -> KubernetesResponse:
        if method == "POST":
            self.asked.append((more["body"], more["query"]))
            if isinstance(self.claims, Exception):
                raise self.claims
            return self.claims
        name = path.rpartition("/")[2]
        return KubernetesResponse(404 if name in self.absent else 200, "{}")

    def expect(self, answer: KubernetesResponse, method: str, path: str) -> KubernetesResponse:
        if not answer.ok:
            raise OutsideFailed(f"{method} {path}: {answer.status}")
        return answer


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        boto3.client("sqs").create_queue(QueueName="lab-queue")
        iam = boto3.client("iam")
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")
        iam.put_role_policy(RoleName=ROLE, PolicyName="Rights", PolicyDocument=POLICY)
        yield


POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}]}'


class Entries:
    """EKS's access entries, which moto does not have."""

    class exceptions:  # noqa: N801 -- boto3's own name
        ClientError = ClientError

    def __init__(self, **types: str) -> None:
        self.types = types

    def describe_access_entry(self, *, clusterName: str, principalArn: str) -> dict[str, Any]:  # noqa: N803 -- boto3's
        assert clusterName
        name = principalArn.removeprefix("arn:aws:iam::123456789012:role/")
        if name not in self.types:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "DescribeAccessEntry")
        return {"accessEntry": {"type": self.types[name]}}


def read(cluster: Cluster, lab: dict[str, Any] | None = None, **entries: str) -> KarpenterFacts:
    reading: Any = KarpenterReading(Lab.model_validate(lab or LAB))
    reading._eks = Entries(**entries)
    found: KarpenterFacts = reading.read(cluster, CALLER)
    return found


def pool(cluster: Cluster, lab: dict[str, Any] | None = None, **entries: str) -> NodePoolFacts:
    found = read(cluster, lab, **entries).pools["gpu"]
    assert isinstance(found, NodePoolFacts)
    return found


def test_karpenter_is_read_from_its_deployment() -> None:
    cluster: Any = Cluster()
    cluster.deployments.append({"metadata": {"namespace": "a", "name": "b"}, "spec": {}})

    [found] = controllers_of(cluster)

    assert (found.name, found.version, found.wanted, found.available) == (
        "kube-system/karpenter",
        "1.14.3",
        2,
        1,
    )
    assert found.why_not == "no minimum availability; exceeded quota"
    assert (found.static_capacity, found.queue) == (True, "lab-queue")
    cluster.deployments = [deployment()]
    assert (controllers_of(cluster)[0].static_capacity, controllers_of(cluster)[0].queue) == (False, "")


def starved() -> Cluster:
    cluster = Cluster()
    [one] = cluster.deployments
    one["spec"]["selector"] = {"matchLabels": {"app": "karpenter"}}
    one["status"]["availableReplicas"] = 0
    return cluster


def test_of_a_starved_karpenter_the_scheduler_s_own_words_are_read() -> None:
    cluster: Any = starved()
    words = "0/2 nodes are available: 2 Insufficient cpu."
    unplaced = {"type": "PodScheduled", "status": "False", "message": words}
    cluster.pods = [{"metadata": {"name": "karpenter-5f9c"}, "status": {"conditions": [unplaced]}}]

    [found] = controllers_of(cluster)

    assert str(found.why_not) == f"pod kube-system/karpenter-5f9c has no node: {words}"


@pytest.mark.parametrize("pods", [[], Forbidden("pods is forbidden", "GET", "pods")])
def test_of_one_whose_pods_say_nothing_or_may_not_be_read_its_deployment_speaks(pods: Any) -> None:
    cluster: Any = starved()
    cluster.pods = pods
    [found] = controllers_of(cluster)
    assert found.why_not == "no minimum availability; exceeded quota"


@pytest.mark.usefixtures("account")
def test_everything_is_read_of_a_lab_in_order() -> None:
    cluster = Cluster()
    facts = read(cluster, nodes="EC2_LINUX")

    assert facts.queues == {"lab-queue": True}
    assert facts.absent_kinds == ()
    found = facts.pools["gpu"]
    assert isinstance(found, NodePoolFacts)
    assert (found.found and found.found.name, found.role, found.access) == (
        "gpu-lab-gpu",
        "nodes",
        "EC2_LINUX",
    )
    assert found.launching is not None
    assert not isinstance(found.launching, Unread)
    assert (found.launching.name, found.launching.inline) == (ROLE, ("Rights",))
    assert found.bar is BarState.REFUSES
    [(claim, query)] = cluster.asked
    assert query == {"dryRun": "All"}
    assert "terminationGracePeriod" not in claim["spec"], "an open bar must refuse it too"


@pytest.mark.usefixtures("account")
def test_what_is_not_there_is_said_to_be_absent() -> None:
    cluster = Cluster()
    cluster.absent = {"nodepools.karpenter.sh"}
    cluster.deployments = [deployment(INTERRUPTION_QUEUE="lost")]
    facts = read(cluster)

    assert facts.queues == {"lost": False}
    assert facts.absent_kinds == ("nodepools.karpenter.sh",)
    assert pool(cluster).access is None
    cluster.objects = {}
    assert (pool(cluster).found, pool(cluster).bar) == (None, BarState.NOTHING_TO_BAR)


@pytest.mark.usefixtures("account")
def test_the_role_for_spot_is_asked_for_where_a_pool_may_start_spot() -> None:
    cluster = Cluster()
    assert read(cluster).spot_role is True
    requirements = cluster.objects[NODE_POOL]["spec"]["template"]["spec"]["requirements"]
    requirements.append({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]})
    assert read(cluster).spot_role is False
    boto3.client("iam").create_role(RoleName="AWSServiceRoleForEC2Spot", AssumeRolePolicyDocument="{}")
    assert read(cluster).spot_role is True


@pytest.mark.usefixtures("account")
def test_the_role_of_the_lab_s_own_nodes_is_known_by_its_name() -> None:
    """Their NodeClass names the lab's instance profile."""
    cluster = Cluster()
    cluster.objects[NODE_CLASS] = node_class(instanceProfile="gpu-lab-ap-northeast-2-karpenter-node")
    found = pool(cluster, LAB, **{"gpu-lab-ap-northeast-2-karpenter-node": "EC2_LINUX"})
    assert (found.role, found.access) == ("gpu-lab-ap-northeast-2-karpenter-node", "EC2_LINUX")


@pytest.mark.usefixtures("account")
def test_a_claim_that_is_taken_shows_that_no_bar_stands() -> None:
    cluster = Cluster()
    cluster.claims = KubernetesResponse(201, "{}")
    assert pool(cluster).bar is BarState.ACCEPTS


@pytest.mark.usefixtures("account")
def test_the_bar_of_an_adopted_pool_is_tried_by_a_claim_that_ends_and_may_be_open() -> None:
    cluster = Cluster()
    adopted = {**LAB, "pools": {"gpu": {"kind": "karpenter", "existing": "gpu-lab-gpu"}}}
    assert pool(cluster, adopted).bar is BarState.REFUSES
    assert "terminationGracePeriod" in cluster.asked[0][0]["spec"]
    cluster.claims = KubernetesResponse(201, "{}")
    assert pool(cluster, adopted).bar is BarState.ACCEPTS
    cluster.objects[BAR] = {"data": {"notAfter": "2026-11-20T12:00:00Z"}}
    assert pool(cluster, adopted).bar is BarState.OPEN
    cluster.objects[BAR] = {"data": {"notAfter": "2026-11-20T10:00:00Z"}}
    assert pool(cluster, adopted).bar is BarState.ACCEPTS


@pytest.mark.usefixtures("account")
def test_a_right_that_is_missing_leaves_only_its_own_fact_unread() -> None:
    cluster = Cluster()
    cluster.claims = Forbidden("nodeclaims.karpenter.sh is forbidden: User cannot create resource")
    found = pool(cluster, nodes="EC2_LINUX")

    assert isinstance(found.bar, Unread)
    assert found.access == "EC2_LINUX"


@pytest.mark.usefixtures("account")
def test_a_lab_of_auto_mode_asks_for_no_karpenter() -> None:
    cluster = Cluster()
    cluster.deployments = []
    auto = {**LAB, "cluster": {"auto_mode": {"enabled": True}}, "pools": {"gpu": {"kind": "auto-mode"}}}
    facts = read(cluster, auto)

    assert (facts.controllers, facts.absent_kinds, facts.queues) == ((), (), {})
