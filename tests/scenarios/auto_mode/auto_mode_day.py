"""A day of a lab on EKS Auto Mode, as its Kubernetes and EC2 show it. local/auto_mode plays Auto Mode."""

from datetime import timedelta
from typing import Any

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.auto_mode.definitions import CLAIMS, POOLS
from local.cloud import Cloud
from local.demo.observations import LIVE, Sample
from tests.scenarios.lab_day import LabDay


class AutoModeDay(LabDay):
    """The lab and one of its NodePools."""

    def __init__(self, cloud: Cloud, pool: str = "gpu") -> None:
        super().__init__(cloud, pool)
        self.node_pool = identity(self.lab, pool).name
        self.path = f"{POOLS}/{self.node_pool}"

    @property
    def kubernetes(self) -> Any:
        return self.cloud.control_plane.admin()

    # what is there

    def look(self) -> Sample:
        """Instances by the tags of Auto Mode, the replicas of the NodePool, and its nodes. No schedules, no money."""
        sample = Sample(
            at=self.now,
            instances=tuple(one["InstanceId"] for one in self.instances()),
            desired=int(self.kubernetes.get(self.path)["spec"]["replicas"]),
            kubernetes_nodes=tuple(node["metadata"]["name"] for node in self.nodes()),
            failsafe=(),
            leases=tuple(self.ledger.leases(self.pool.name)),
            committed="",
        )
        self.samples.append(sample)
        return sample

    def instances(self) -> list[dict[str, Any]]:
        """Those that EC2 still has."""
        tags = identity(self.lab, self.pool.name).tags
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
        states = {"Name": "instance-state-name", "Values": [*LIVE, "stopped"]}
        reservations = self.api("ec2").describe_instances(
            Filters=[*filters, states], IncludeManagedResources=True
        )["Reservations"]
        return [one for each in reservations for one in each["Instances"]]

    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubernetes.get(
            f"/api/v1/nodes?labelSelector=karpenter.sh/nodepool%3D{self.node_pool}"
        )["items"]
        return found

    def claims(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.kubernetes.get(
            f"{CLAIMS}?labelSelector=karpenter.sh/nodepool%3D{self.node_pool}"
        )["items"]
        return found

    def machine(self) -> str:
        """The ARN of the failsafe's state machine."""
        listed = self.api("stepfunctions").list_state_machines()["stateMachines"]
        [found] = [one for one in listed if one["name"] == f"{self.lab.name}-failsafe"]
        return str(found["stateMachineArn"])

    def launching_role(self) -> str:
        """The name of the cluster's role, with which Auto Mode launches."""
        cluster = self.api("eks").describe_cluster(name=self.lab.cluster_name)["cluster"]
        return str(cluster["roleArn"].rpartition("/")[2])

    def locks(self) -> list[str]:
        """The failsafe's locks on that role."""
        policies = self.api("iam").list_role_policies(RoleName=self.launching_role())["PolicyNames"]
        return [name for name in policies if name.startswith("lamplighter-lock-")]

    def auto_mode_is_on(self) -> bool:
        found = self.api("eks").describe_cluster(name=self.lab.cluster_name)["cluster"]
        return bool(found["computeConfig"]["enabled"])

    # what people do

    def opened(self, nodes: int, length: str) -> Lease:
        """A lease with proven GPUs."""
        return self.until_state(self.open(nodes, length).id, LeaseState.OPEN)

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

    # time

    def until_zero(self, within: timedelta) -> Sample:
        """Waits until EC2 has no instance of the pool."""
        return self.until("EC2 is at zero", lambda sample: not sample.instances, within)
