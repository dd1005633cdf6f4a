"""A lab with the real Karpenter, with what people and accidents do to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.capacity.node_pool.kind import LABEL
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.karpenter_day import KarpenterDay

LAB = """
name: demo
cluster: {karpenter: {version: 1.14.3}}
pools:
  gpu: {kind: karpenter, drain: 1m}
  other: {kind: karpenter, drain: 1m}
  third: {kind: karpenter, drain: 1m}
"""
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"
DEFAULT = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ROLE = "demo-ap-northeast-2-karpenter"


class FaultyDay(KarpenterDay):
    """One of its pools."""

    def opened(self, length: str = "30m") -> Lease:
        """A lease with its one node, proven."""
        return self.until_open(self.open(1, length))

    def until_open(self, lease: Lease) -> Lease:
        opened = self.until_state(lease.id, LeaseState.OPEN)
        assert len(self.instances()) == 1
        return opened

    def claims(self) -> list[dict[str, Any]]:
        return [one for one in super().claims() if one["metadata"]["labels"][LABEL] == self.node_pool]

    def interrupt(self, instance: str) -> None:
        """As EC2 does two minutes before it takes a Spot instance back."""
        self.cloud.aws.moto_additions.instance_events.interrupt(instance)

    def has_gpus(self, instance: str) -> bool:
        """Whether the node of an instance offers its GPU."""
        return any(
            node["spec"]["providerID"].endswith(f"/{instance}")
            and node["status"].get("allocatable", {}).get("nvidia.com/gpu") == "1"
            for node in self.nodes()
        )

    @contextmanager
    def unreachable_api_server(self) -> Iterator[None]:
        """Nothing answers where EKS says that the API server is. Karpenter, inside the cluster, still reaches it."""
        cluster = self.api("eks").describe_cluster(name=self.lab.cluster_name)["cluster"]
        authority, additions = cluster["certificateAuthority"]["data"], self.cloud.aws.moto_additions
        additions.control_plane("https://127.0.0.1:9", authority)
        try:
            yield
        finally:
            additions.control_plane(cluster["endpoint"], authority)

    def karpenter_pods(self, wanted: int) -> None:
        """As `kubectl scale deployment karpenter` does; returns when its programs follow."""
        self.kubernetes.merge(DEPLOYMENT, {"spec": {"replicas": wanted}})

        def follow() -> bool:
            ready = self.kubernetes.get(DEPLOYMENT)["status"].get("readyReplicas", 0)
            return bool(ready == wanted == len(self.cloud.karpenter.running))

        self.await_(f"Karpenter has {wanted} pods", follow, timedelta(minutes=20))

    def hold(self) -> None:
        """A pod on the pool's node that nothing may disturb: neither Karpenter nor an eviction."""
        metadata = {
            "name": "held",
            "labels": {"app": "held"},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        }
        spec = {
            "nodeSelector": {"karpenter.sh/nodepool": self.node_pool},
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "train", "image": "busybox", "command": ["sleep", "infinity"]}],
        }
        self.kubernetes.create(
            DEFAULT, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "held"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "held"}}},
        }
        self.kubernetes.create(BUDGETS, budget)
        self.await_(
            "the pod runs",
            lambda: self.kubernetes.get(f"{DEFAULT}/held")["status"]["phase"] == "Running",
            timedelta(minutes=5),
        )

    def locked(self) -> bool:
        policies = self.api("iam").list_role_policies(RoleName=ROLE)["PolicyNames"]
        return lock.policy_name(self.node_pool) in policies

    def lock(self) -> None:
        """As the failsafe's machine leaves it."""
        document = json.dumps(lock.document(self.tags))
        self.api("iam").put_role_policy(
            RoleName=ROLE, PolicyName=lock.policy_name(self.node_pool), PolicyDocument=document
        )
        assert self.locked()

    def told(self) -> dict[str, list[str]]:
        """What `diagnose` tells, by the name of each cause."""
        said = self.command("diagnose", self.pool.name, "--json", "-")
        assert said.code == 0, said
        return {each["cause"]: each["evidence"] for each in said.document["findings"]}
