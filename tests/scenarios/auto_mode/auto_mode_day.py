"""A day of a lab on EKS Auto Mode, as its Kubernetes and EC2 show it. local/auto_mode plays Auto Mode."""

from collections.abc import Mapping
from typing import Any

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.auto_mode.definitions import CLAIMS
from tests.scenarios.node_pool_day import NodePoolDay


class AutoModeDay(NodePoolDay):
    """The lab and one of its NodePools."""

    @property
    def tags(self) -> Mapping[str, str]:
        """Those by which AWS tells whose an instance of Auto Mode is."""
        return identity(self.lab, self.pool.name).tags

    # what is there

    def claims(self) -> list[dict[str, Any]]:
        """Those of the pool."""
        found: list[dict[str, Any]] = self.kubernetes.get(
            f"{CLAIMS}?labelSelector=karpenter.sh/nodepool%3D{self.node_pool}"
        )["items"]
        return found

    def machine(self) -> str:
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

    # time
