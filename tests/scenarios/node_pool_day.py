"""A day of a lab on one of its NodePools, as its Kubernetes and EC2 show it.

KarpenterDay and AutoModeDay say by which tags instances are the pool's, and which claims they look at.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from lamplighter.domain.capacity.kinds import identity
from local.cloud import Cloud
from local.demo.observations import LIVE, Sample
from tests.scenarios.lab_day import LabDay


class NodePoolDay(LabDay):
    """The lab, with the NodePool of the pool that is looked at."""

    def __init__(self, cloud: Cloud, pool: str = "gpu") -> None:
        super().__init__(cloud, pool)
        self.node_pool = identity(self.lab, pool).name
        self.path = f"/apis/karpenter.sh/v1/nodepools/{self.node_pool}"

    @property
    def kubernetes(self) -> Any:
        return self.cloud.control_plane.admin()

    @property
    @abstractmethod
    def tags(self) -> Mapping[str, str]:
        """The tags by which an instance is the pool's."""

    @abstractmethod
    def claims(self) -> list[dict[str, Any]]:
        """The NodeClaims that there are."""

    # what is there

    def look(self) -> Sample:
        """Instances by their tags, the replicas of the NodePool, and its nodes. Without schedules and money."""
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

    def instances(self) -> list[str]:
        """The pool's instances that EC2 still has."""
        return [one["InstanceId"] for one in self.described()]

    def described(self) -> list[dict[str, Any]]:
        """The same, with all that EC2 says of them."""
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in self.tags.items()]
        states = {"Name": "instance-state-name", "Values": [*LIVE, "stopped"]}
        # EC2 hides the instances of Auto Mode from a list that does not ask for them.
        reservations = self.api("ec2").describe_instances(
            Filters=[*filters, states], IncludeManagedResources=True
        )["Reservations"]
        return [one for each in reservations for one in each["Instances"]]

    def nodes(self) -> list[dict[str, Any]]:
        selected = f"/api/v1/nodes?labelSelector=karpenter.sh/nodepool%3D{self.node_pool}"
        found: list[dict[str, Any]] = self.kubernetes.get(selected)["items"]
        return found

    def replicas(self) -> int:
        return int(self.kubernetes.get(self.path)["spec"]["replicas"])

    # what people do

    def scale(self, replicas: int) -> None:
        """As `kubectl scale` does."""
        self.kubernetes.merge(self.path, {"spec": {"replicas": replicas}})

    def without_functions(self) -> None:
        """Deletes every function of the lab."""
        functions = self.api("lambda")
        for page in functions.get_paginator("list_functions").paginate():
            for one in page["Functions"]:
                if one["FunctionName"].startswith(f"{self.lab.name}-"):
                    functions.delete_function(FunctionName=one["FunctionName"])
