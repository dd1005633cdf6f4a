"""`lamplighter adopt` for a NodePool: what is read of it, its problems, and the lab file."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from moto import mock_aws
from typer.testing import CliRunner

from cli.plan import adopt
from lamplighter.adapters.capacity.adoption import Adoption
from lamplighter.adapters.kubernetes import connection as connections
from lamplighter.adapters.kubernetes import existing_node_pools
from lamplighter.adapters.kubernetes.existing_node_pools import as_read
from lamplighter.domain.pool.adoption import Autoscalers, ExistingCluster
from lamplighter.domain.pool.node_pool_adoption import (
    ExistingNodeClass,
    ExistingNodePool,
    ServiceAccount,
    node_pool_obstacles,
)
from lamplighter.errors import BadInput
from lamplighter.labfile import file as labfile
from tests.node_pool_snapshots import condition, node_class, node_pool

CLUSTER = ExistingCluster(
    "team", "ap-northeast-2", "1.35", "API", public_endpoint=True, public_cidrs=("0.0.0.0/0",)
)
CLASS = ExistingNodeClass("gpu", aliases=("al2023@v20260724",), role="nodes")
POOL = ExistingNodePool(
    name="gpu-pool", kind="karpenter", replicas=0, most=2, instance_types=("g5.xlarge",),
    architectures=("amd64",), capacity_types=("on-demand",), grace=timedelta(minutes=10),
    node_class=CLASS,
)  # fmt: skip
NONE = Autoscalers(asked=True)


def document(requirements: dict[str, list[str]], group: str, kind: str, **more: Any) -> dict[str, Any]:
    """A NodePool whose template asks for these values, with a node class called default."""
    rows = [{"key": key, "operator": "In", "values": values} for key, values in requirements.items()]
    taints = [{"key": "gpu-workload", "effect": "NoSchedule"}]
    reference = {"group": group, "kind": kind, "name": "default"}
    template = {"requirements": rows, "nodeClassRef": reference, "taints": taints}
    return {"metadata": {"name": "gpu-pool"}, "spec": {"template": {"spec": template}, **more}}


ARCH, CAPACITY, CATEGORY = (
    "kubernetes.io/arch",
    "karpenter.sh/capacity-type",
    "eks.amazonaws.com/instance-category",
)
DOCUMENT_001 = document(
    {ARCH: ["amd64"], CAPACITY: ["on-demand"], CATEGORY: ["g", "p"]},
    "karpenter.k8s.aws",
    "EC2NodeClass",
    limits={"cpu": 1000},
    disruption={"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"},
)
CLASS_001 = {
    "metadata": {"name": "default"},
    "spec": {"role": "nodes", "amiSelectorTerms": [{"id": "ami-00ae"}]},
}
DOCUMENT_000 = document({ARCH: ["arm64", "amd64"], CATEGORY: ["g", "p"]}, "eks.amazonaws.com", "NodeClass")


def said(pool: ExistingNodePool, autoscalers: Autoscalers = NONE) -> list[tuple[bool, str]]:
    return [(found.blocks, str(found.text)) for found in node_pool_obstacles(CLUSTER, pool, autoscalers)]


def test_a_pool_that_is_ready_has_nothing_in_its_way() -> None:
    assert said(POOL) == []
    assert said(replace(POOL, replicas=None)) == []


@pytest.mark.parametrize(
    ("more", "blocks", "words"),
    [
        ({"instance_types": ("m5.large", "g5.xlarge")}, True, "may start m5.large, without an NVIDIA GPU"),
        ({"instance_types": (), "may_start_gpus": False}, True, "exclude instance types with a GPU"),
        ({"instance_types": ()}, False, "name no instance type"),
        ({"instance_types": ("g5.xlarge", "g6.xlarge")}, False, "may start any of g5.xlarge and g6.xlarge"),
        ({"unknown_keys": ("eks.amazonaws.com/x",)}, False, "does not know the requirement eks.amazonaws.com/x"),
        ({"architectures": ("amd64", "arm64")}, False, "'exec format error'"),
        ({"grace": None}, False, "keeps its node, and the costs, without end"),
        ({"grace": None, "kind": "auto-mode"}, False, "EKS Auto Mode then gives each node 24h"),
        ({"grace": timedelta(hours=1)}, False, "has a terminationGracePeriod of 1h"),
        ({"consolidates": True, "replicas": None}, False, "consolidates nodes that are in use"),
        ({"capacity_types": ("on-demand", "spot")}, False, "may start spot nodes"),
        ({"node_class": replace(CLASS, aliases=("al2023@latest",))}, False, "takes the image al2023@latest"),
        ({"node_class": replace(CLASS, own_images=("ami-1",))}, False, "an image of its own, ami-1"),
        ({"node_class": replace(CLASS, ready=False, why_not="AMINotFound")}, False, "no node starts: AMINotFound"),
        ({"ready": False, "why_not": "x"}, False, "NodePool gpu-pool is not ready, so no node starts: x"),
        ({"never_register": True}, False, "started and none registered"),
        ({"writers": ("argocd-controller",)}, False, "argocd-controller writes the size of NodePool gpu-pool back"),
        ({"most": None}, False, "has no limit of nodes"),
        ({"running": 1}, False, "1 node of NodePool gpu-pool runs now: it stays and is reported"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_pool_is_said(more: dict[str, Any], blocks: bool, words: str) -> None:
    found = said(replace(POOL, **more))
    assert [words in text for _, text in found].count(True) == 1
    assert [found_blocks for found_blocks, text in found if words in text] == [blocks]
    assert len(found) <= 2


def test_a_grace_as_long_as_one_of_a_pool_of_the_lab_is_fine() -> None:
    assert said(replace(POOL, grace=timedelta(minutes=25))) == []


def test_on_auto_mode_the_advice_says_what_the_failsafe_cannot_do() -> None:
    theirs = replace(POOL, kind="auto-mode", grace=None)
    for pool in (theirs, replace(theirs, grace=timedelta(hours=1))):
        [found] = node_pool_obstacles(CLUSTER, pool, NONE)
        assert "the failsafe cannot do it alone" in str(found.advice)


def test_a_static_pool_is_never_consolidated() -> None:
    assert said(replace(POOL, consolidates=True)) == []


def test_another_node_pool_with_gpus_is_in_the_way_and_the_adopted_one_is_not() -> None:
    [(blocks, text)] = said(POOL, Autoscalers(asked=True, nodepools=("gpu-pool", "other")))
    assert blocks
    assert text.startswith("NodePool other may start GPU nodes that no lease justifies")


def test_the_pool_of_document_001_is_read_with_everything_that_misleads_in_it() -> None:
    found = as_read(DOCUMENT_001, CLASS_001)

    assert (found.kind, found.static, found.most, found.instance_types) == ("karpenter", False, None, ())
    assert found.unknown_keys == ("eks.amazonaws.com/instance-category",)
    assert (found.grace, found.consolidates, found.may_start_gpus) == (None, True, True)
    assert found.expires_after == timedelta(hours=720)
    assert found.node_class == ExistingNodeClass("default", own_images=("ami-00ae",), role="nodes")
    texts = " ".join(text for _, text in said(found))
    misleads = (
        "name no instance type",
        "no terminationGracePeriod",
        "consolidates",
        "ami-00ae",
        "no limit of nodes",
    )
    assert [words for words in misleads if words not in texts] == []


def test_the_pool_of_document_000_knows_its_own_keys_and_may_start_arm64() -> None:
    found = as_read(DOCUMENT_000, {})
    assert (found.kind, found.unknown_keys, found.node_class) == ("auto-mode", (), None)
    assert found.architectures == ("arm64", "amd64")


def test_a_static_pool_is_read_with_its_size_its_health_and_who_writes_it() -> None:
    pool = node_pool(replicas=1, disruption={"consolidateAfter": "Never"})
    pool["spec"]["template"]["spec"] |= {"expireAfter": "14h0m0s", "terminationGracePeriod": "10m"}
    pool["status"] = {
        "nodes": 1,
        "conditions": [
            condition("Ready", "False", "NodeClassNotReady", "it waits"),
            condition("NodeRegistrationHealthy", "False", "RegistrationFailed"),
        ],
    }
    pool["metadata"]["managedFields"] = [
        {"manager": "argocd-controller", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "kustomize-controller", "fieldsV1": {"f:spec": {"f:template": {}}}},
        {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:limits": {}}}},
    ]
    found = as_read(pool, node_class(condition("Ready", "False", "AMINotFound", "none")))

    assert (found.replicas, found.most, found.running) == (1, 2, 1)
    assert (found.grace, found.consolidates) == (timedelta(minutes=10), False)
    assert found.expires_after == timedelta(hours=14)
    assert (found.ready, found.why_not) == (False, "NodeClassNotReady: it waits")
    assert found.never_register
    assert found.writers == ("argocd-controller",)
    assert found.node_class is not None
    assert found.node_class.aliases == ("al2023@v20260724",)
    assert found.node_class.why_not == "AMINotFound: none"
    pool["spec"]["template"]["spec"]["expireAfter"] = "Never"
    assert as_read(pool, {}).expires_after is None


def lab_of(folder: Path, pool: ExistingNodePool, role: str | None = None) -> Any:
    file = folder / "lab.yaml"
    file.write_text("\n".join(adopt.node_pool_lab_file(CLUSTER, pool, role)), "utf-8")
    return labfile.load(file)


def test_what_is_printed_is_a_lab_file(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, POOL, "KarpenterController")
    assert (lab.name, lab.cluster_name) == ("team", "team")
    assert (lab.pools["gpu"].kind, lab.node_pool_name("gpu")) == ("karpenter", "gpu-pool")
    assert (lab.pools["gpu"].instance_type, lab.pools["gpu"].max_nodes) == ("g5.xlarge", 2)
    assert (lab.cluster.karpenter.existing, lab.cluster.karpenter.role) == (True, "KarpenterController")
    assert lab.mode("gpu") == "watch"


def test_the_lab_file_names_every_type_that_the_pool_may_start(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, replace(POOL, instance_types=("g5.xlarge", "m5.large", "g5.2xlarge")))
    assert lab.pools["gpu"].types == ("g5.xlarge", "g5.2xlarge")
    assert "g5.xlarge and p9.huge is known" in "\n".join(
        adopt.node_pool_lab_file(CLUSTER, replace(POOL, instance_types=("g5.xlarge", "p9.huge")))
    )


def test_the_lab_file_of_auto_mode_and_of_a_pool_that_states_nothing(tmp_path: Path) -> None:
    lab = lab_of(tmp_path, replace(POOL, kind="auto-mode"))
    assert (lab.pools["gpu"].kind, lab.cluster.auto_mode.enabled) == ("auto-mode", True)

    text = "\n".join(
        adopt.node_pool_lab_file(CLUSTER, replace(POOL, replicas=None, most=None, instance_types=()))
    )
    assert "It is dynamic: pods start its nodes" in text
    assert "# instance_type: g5.xlarge  # needed: the NodePool names no type with a GPU" in text
    assert "max_nodes: 1  # the NodePool states no number of nodes above 0" in text
    assert "# role: its IAM role" in text


IRSA = {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/KarpenterController"}


class Cluster:
    """A cluster's API server with one NodePool and Karpenter."""

    server_time = None

    def __init__(self) -> None:
        containers = [{"image": "public.ecr.aws/karpenter/controller:1.14.3@sha256:00"}]
        pod = {"serviceAccountName": "karpenter", "containers": containers}
        self.objects: dict[str, Any] = {
            "/apis/karpenter.sh/v1/nodepools/gpu-lab-gpu": node_pool(replicas=0),
            "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/gpu-lab-gpu": node_class(),
            "/api/v1/namespaces/kube-system/serviceaccounts/karpenter": {"metadata": {"annotations": IRSA}},
        }
        self.lists: dict[str, list[Any]] = {
            "/apis/karpenter.sh/v1/nodepools": [node_pool(replicas=0)],
            "/apis/apps/v1/deployments": [
                {"metadata": {"namespace": "kube-system", "name": "x"}, "spec": {"template": {"spec": pod}}}
            ],
        }

    def get(self, path: str) -> Any:
        return self.objects.get(path, {})

    def list(self, path: str) -> list[Any]:
        return self.lists.get(path, [])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-northeast-2")
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    made = Cluster()
    monkeypatch.setattr(connections, "connect", lambda _: made)
    with mock_aws():
        eks, role = boto3.client("eks"), "arn:aws:iam::123456789012:role/any"
        network = {"subnetIds": ["subnet-1"]}
        access = {"authenticationMode": "API"}
        eks.create_cluster(
            name="team", version="1.35", roleArn=role, resourcesVpcConfig=network, accessConfig=access  # type: ignore[arg-type]
        )  # fmt: skip
        yield made


def asked(name: str) -> Any:
    app = typer.Typer()
    app.command()(adopt.command)
    return CliRunner().invoke(app, ["team", name])


def test_the_verb_tells_a_node_pool_from_a_node_group_by_what_exists(cluster: Cluster) -> None:
    answer = asked("gpu-lab-gpu")

    # moto knows no access entries: that alone is in the way.
    assert answer.exit_code == 1, answer.output
    assert answer.stderr.count("in the way: ") == 1
    assert "kind: karpenter" in answer.stdout
    assert "karpenter: {existing: true, role: KarpenterController}" in answer.stdout
    assert cluster.lists


def test_a_name_that_neither_has_is_answered_with_both(cluster: Cluster) -> None:
    answer = asked("gpus")
    assert isinstance(answer.exception, BadInput)
    both = "has neither a managed node group nor a NodePool 'gpus'; NodePools: gpu-lab-gpu"
    assert both in str(answer.exception)
    cluster.lists["/apis/karpenter.sh/v1/nodepools"] = []
    answer = asked("gpus")
    assert "has no managed node group 'gpus'; it has none" in str(answer.exception)


class Identities:
    """EKS's pod identities, which moto does not have."""

    def __init__(self) -> None:
        self.role = "arn:aws:iam::1:role/Identity"

    def get_paginator(self, _operation: str) -> "Identities":
        return self

    def paginate(self, *, namespace: str, **_: str) -> list[dict[str, Any]]:
        """The second page has what is there."""
        found = [{"associationId": "a-1"}] if namespace == "kube-system" else []
        return [{"associations": []}, {"associations": found}]

    def describe_pod_identity_association(self, **_: str) -> dict[str, Any]:
        return {"association": {"roleArn": self.role}}


@pytest.mark.usefixtures("cluster")
def test_the_role_of_karpenter_is_that_of_its_annotation_else_of_its_pod_identity() -> None:
    annotated = ServiceAccount("kube-system", "karpenter", "arn:aws:iam::1:role/x/Irsa")
    adoption: Any = Adoption()
    adoption._eks = Identities()

    assert adoption.karpenter_role("team", annotated) == "x/Irsa"
    assert adoption.karpenter_role("team", ServiceAccount("kube-system", "karpenter")) == "Identity"
    assert adoption.karpenter_role("team", ServiceAccount("other", "karpenter")) is None
    assert adoption.karpenter_role("team", None) is None


def test_without_karpenter_there_is_no_account(cluster: Cluster) -> None:
    cluster.lists["/apis/apps/v1/deployments"] = []
    found: Any = cluster
    assert existing_node_pools.karpenter_account(found) is None
