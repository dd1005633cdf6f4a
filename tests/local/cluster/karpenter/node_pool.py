"""A static NodePool of the real controller on the embedded EC2: the fixture `pool`, and what tests read of it."""

import pytest

from tests.local.cluster.karpenter.conftest import NODE_ROLE, Karpenter
from tests.local.cluster.lab import await_true
from tests.local.cluster.test_token_webhook import CLUSTER

NAME = "gpu-lab-gpu"
CLASSES, POOLS, CLAIMS = (
    "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "/apis/karpenter.sh/v1/nodepools",
    "/apis/karpenter.sh/v1/nodeclaims",
)


@pytest.fixture(scope="module")
def pool(karpenter: Karpenter):
    """A static NodePool of no nodes, and its NodeClass, both ready."""
    karpenter.await_ready()
    aws, kubernetes = karpenter.aws, karpenter.lab.kubernetes
    network = aws.call("eks", "describe_cluster", name=CLUSTER)["cluster"]["resourcesVpcConfig"]
    kubernetes.create(CLASSES, _node_class(network))
    kubernetes.create(POOLS, _node_pool())
    await_pool_ready(karpenter)
    yield karpenter
    kubernetes.delete(f"{POOLS}/{NAME}")
    kubernetes.delete(f"{CLASSES}/{NAME}")
    await_true(lambda: not kubernetes.find(f"{CLASSES}/{NAME}"), "Karpenter has let the NodeClass go")


def await_pool_ready(karpenter: Karpenter) -> None:
    kubernetes = karpenter.lab.kubernetes
    await_true(lambda: condition(kubernetes.get(f"{CLASSES}/{NAME}")) == "True", "the NodeClass is ready")
    await_true(lambda: condition(kubernetes.get(f"{POOLS}/{NAME}")) == "True", "the NodePool is ready")


def scale(pool: Karpenter, replicas: int) -> None:
    pool.lab.kubernetes.merge(f"{POOLS}/{NAME}", {"spec": {"replicas": replicas}})


def instances(pool: Karpenter) -> list[dict]:
    wanted = [
        {"Name": "tag:karpenter.sh/nodepool", "Values": [NAME]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]},
    ]
    found = pool.aws.call("ec2", "describe_instances", Filters=wanted)["Reservations"]
    return [instance for reservation in found for instance in reservation["Instances"]]


def condition(item: dict, kind: str = "Ready") -> str:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one["status"] for one in conditions if one["type"] == kind), "")


def _node_class(network: dict) -> dict:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": NAME},
        "spec": {
            "role": NODE_ROLE,
            "amiSelectorTerms": [{"alias": "al2023@v20260724"}],
            "subnetSelectorTerms": [{"id": subnet} for subnet in network["subnetIds"]],
            "securityGroupSelectorTerms": [{"id": network["clusterSecurityGroupId"]}],
        },
    }


def _node_pool() -> dict:
    requirements = {
        "node.kubernetes.io/instance-type": "g5.xlarge",
        "karpenter.sh/capacity-type": "on-demand",
        "topology.kubernetes.io/zone": "ap-northeast-2a",
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": NAME},
        "spec": {
            "replicas": 0,
            "limits": {"nodes": 2},
            "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "0"}]},
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": NAME},
                    "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
                    "expireAfter": "14h",
                    "terminationGracePeriod": "10m",
                    "requirements": [
                        {"key": key, "operator": "In", "values": [value]}
                        for key, value in requirements.items()
                    ],
                }
            },
        },
    }
