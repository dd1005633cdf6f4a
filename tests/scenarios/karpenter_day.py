"""A day of a lab with the real Karpenter, on one of its NodePools: its clock is real, so waits are short."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from local.demo.observations import Sample
from tests.scenarios.node_pool_day import NodePoolDay

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/kube-system/pods"
#: Real seconds between two looks at a pool, and at a condition.
PAUSE, LOOK = 2, 1


class KarpenterDay(NodePoolDay):
    """The lab as its Kubernetes and EC2 show it."""

    @property
    def tags(self) -> Mapping[str, str]:
        """Karpenter's tag alone: an instance without the cluster's would count as well."""
        return {"karpenter.sh/nodepool": self.node_pool}

    def claims(self) -> list[dict[str, Any]]:
        """Those of every pool."""
        found: list[dict[str, Any]] = self.kubernetes.get(CLAIMS)["items"]
        return found

    def bar(self) -> str | None:
        """Until when the launch bar lets claims of the pool be created; None while it is shut."""
        kept = self.kubernetes.get(f"/api/v1/namespaces/lamplighter/configmaps/{self.node_pool}")
        return str(kept["data"]["notAfter"]) if (kept.get("data") or {}).get("notAfter") else None

    def specifications(self) -> dict[str, Any]:
        """What the NodePool and its class ask for, with the generation of each."""
        node_class = f"/apis/karpenter.k8s.aws/v1/ec2nodeclasses/{self.node_pool}"
        documents = {path: self.kubernetes.get(path) for path in (self.path, node_class)}
        return {path: (one["metadata"]["generation"], one["spec"]) for path, one in documents.items()}

    def karpenter_says(self) -> str:
        """What all its pods have printed."""
        pods = self.kubernetes.get(f"{PODS}?labelSelector=app.kubernetes.io/name=karpenter")["items"]
        return "".join(self.kubernetes.text(f"{PODS}/{pod['metadata']['name']}/log") for pod in pods)

    def receipts(self, lease: str) -> list[dict[str, Any]]:
        return [receipt for receipt in self.ledger.receipts(self.pool.name) if receipt["lease"] == lease]

    # time

    def await_(self, what: str, condition: Callable[[], bool], within: timedelta) -> None:
        """Lets real time pass until the condition holds."""
        deadline = self.now + within
        while not condition():
            assert self.now < deadline, f"{what}: not within {within}\n{self.story(self.look())}"
            self.clock.sleep(LOOK * self.clock.rate)

    @contextmanager
    def quick(self) -> Iterator[None]:
        """An hour in which Karpenter has nothing to do takes a moment."""
        self.clock.hurry(True)
        try:
            yield
        finally:
            self.clock.hurry(False)

    def story(self, sample: Sample) -> str:
        return f"{super().story(sample)}\n{self.karpenter_says()[-3000:]}"

    def _pause(self, busy: timedelta) -> timedelta:
        del busy
        return timedelta(seconds=PAUSE * self.clock.rate)
