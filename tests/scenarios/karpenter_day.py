"""A day of a lab with the real Karpenter, on one of its NodePools: its clock is real, so waits are short."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lamplighter.domain.capacity.kinds import identity
from local.cloud import Cloud
from local.demo.observations import LIVE, Sample
from tests.scenarios.lab_day import LabDay

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/kube-system/pods"
#: Virtual time is real time here.
PAUSE = timedelta(seconds=2)


class KarpenterDay(LabDay):
    """The lab as its Kubernetes and EC2 show it."""

    def __init__(self, cloud: Cloud, pool: str = "gpu") -> None:
        super().__init__(cloud, pool)
        self.node_pool = identity(self.lab, pool).name
        self.path = f"/apis/karpenter.sh/v1/nodepools/{self.node_pool}"

    @property
    def kubernetes(self) -> Any:
        return self.cloud.control_plane.admin()

    # what is there

    def look(self) -> Sample:
        """Instances by Karpenter's tag, the replicas of the NodePool, and its nodes. Without schedules and money."""
        sample = Sample(
            at=self.now,
            instances=tuple(self.instances()),
            desired=self.replicas(),
            kubernetes_nodes=tuple(node["metadata"]["name"] for node in self.nodes()),
            failsafe=(),
            leases=tuple(self.ledger.leases(self.pool.name)),
            committed="",
        )
        self.samples.append(sample)
        return sample

    def claims(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubernetes.get(CLAIMS)["items"]
        return found

    def nodes(self) -> list[dict[str, Any]]:
        selected = f"/api/v1/nodes?labelSelector=karpenter.sh/nodepool%3D{self.node_pool}"
        found: list[dict[str, Any]] = self.kubernetes.get(selected)["items"]
        return found

    def replicas(self) -> int:
        return int(self.kubernetes.get(self.path)["spec"]["replicas"])

    def bar(self) -> str | None:
        """Until when the launch bar lets claims of the pool be created; None while it is shut."""
        kept = self.kubernetes.get(f"/api/v1/namespaces/lamplighter/configmaps/{self.node_pool}")
        return str(kept["data"]["notAfter"]) if (kept.get("data") or {}).get("notAfter") else None

    def specifications(self) -> dict[str, Any]:
        """What the NodePool and its class ask for, with the generation of each."""
        node_class = f"/apis/karpenter.k8s.aws/v1/ec2nodeclasses/{self.node_pool}"
        documents = {path: self.kubernetes.get(path) for path in (self.path, node_class)}
        return {path: (one["metadata"]["generation"], one["spec"]) for path, one in documents.items()}

    def instances(self) -> list[str]:
        """The instances with Karpenter's tag that EC2 still has."""
        filters = [
            {"Name": "tag:karpenter.sh/nodepool", "Values": [self.node_pool]},
            {"Name": "instance-state-name", "Values": [*LIVE, "stopped"]},
        ]
        reservations = self.api("ec2").describe_instances(Filters=filters)["Reservations"]
        return [one["InstanceId"] for each in reservations for one in each["Instances"]]

    def karpenter_says(self) -> str:
        """What all its pods have printed."""
        pods = self.kubernetes.get(f"{PODS}?labelSelector=app.kubernetes.io/name=karpenter")["items"]
        return "".join(self.kubernetes.text(f"{PODS}/{pod['metadata']['name']}/log") for pod in pods)

    def receipts(self, lease: str) -> list[dict[str, Any]]:
        return [receipt for receipt in self.ledger.receipts(self.pool.name) if receipt["lease"] == lease]

    # what people do

    def scale(self, replicas: int) -> None:
        """As `kubectl scale` does."""
        self.kubernetes.merge(self.path, {"spec": {"replicas": replicas}})

    # time

    def await_(self, what: str, condition: Callable[[], bool], within: timedelta) -> None:
        """Lets real time pass until the condition holds."""
        deadline = self.now + within
        while not condition():
            assert self.now < deadline, f"{what}: not within {within}\n{self.story(self.look())}"
            self.clock.sleep(1)

    def story(self, sample: Sample) -> str:
        return f"{super().story(sample)}\n{self.karpenter_says()[-3000:]}"

    def _pause(self, busy: timedelta) -> timedelta:
        del busy
        return PAUSE
