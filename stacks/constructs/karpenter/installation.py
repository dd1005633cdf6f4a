"""Karpenter in the lab's cluster: the custom resource definitions first, then the controller on the system nodes.

Helm upgrades no definitions that a chart brings along, so they are a chart of their own. Both charts are in the
repository (stacks/charts), and a deploy uploads them: the cluster asks no registry for them. On a destroy the NodePools
go first, because only the controller takes the finalizers off their objects.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable

from lamplighter.domain.capacity.node_pool.controller import NAME, NAMESPACE
from lamplighter.domain.capacity.node_pool.roles import CONTROLLER
from lamplighter.lab.model import Lab
from stacks.charts.kept import karpenter_chart, karpenter_crd_chart
from stacks.constructs.cluster.kubectl import Kubectl
from stacks.constructs.cluster.workload_identity import pods_of
from stacks.constructs.grants import boundary
from stacks.constructs.karpenter.controller_rights import controller_rights
from stacks.constructs.karpenter.interruption import Interruption
from stacks.names import Names

REPLICAS = 2
REQUESTS = {"cpu": "200m", "memory": "512Mi"}
"""What fits beside the add-ons on t3.medium; the published guide's 1 CPU and 1 GiB does not."""


class KarpenterInstallation(Construct):
    """`installed` is the chart; pools come after it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lab: Lab,
        version: str,
        names: Names,
        cluster_name: str,
        kubectl: Kubectl,
        node_role_arns: Sequence[str],
        after: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, construct_id)
        interruption = Interruption(self, "Interruption", names=names)
        rights = controller_rights(
            names, queue_arn=interruption.queue.queue_arn, node_role_arns=node_role_arns
        )
        held = boundary(
            self,
            "Boundary",
            name=names.policy(CONTROLLER),
            description=f"What Karpenter may do for the cluster {lab.cluster_name}, and the most that it may ever do",
            leaves=rights,
        )
        role = iam.Role(
            self,
            "Role",
            role_name=names.role(CONTROLLER),
            assumed_by=pods_of(NAMESPACE, NAME, cluster_arn=names.cluster_arn),
            # Functions that take the failsafe's lock off this role may delete its inline policies, so it has none.
            managed_policies=[held],
            # The failsafe writes its lock to the role, and IAM cannot limit what a policy says.
            permissions_boundary=held,
            description=f"What Karpenter may do for the cluster {lab.cluster_name}",
        )
        identity = eks.CfnPodIdentityAssociation(
            self,
            "Identity",
            cluster_name=cluster_name,
            namespace=NAMESPACE,
            service_account=NAME,
            role_arn=role.role_arn,
        )
        definitions = kubectl.kept_chart(
            "KarpenterDefinitions",
            release=f"{NAME}-crd",
            folder=karpenter_crd_chart(version),
            namespace=NAMESPACE,
            values={},
            after=after,
        )
        self.definitions = definitions
        self.installed = kubectl.kept_chart(
            "Karpenter",
            release=NAME,
            folder=karpenter_chart(version),
            namespace=NAMESPACE,
            values=_values(lab, names),
            # A pod that starts before its association does not have it.
            after=[*after, definitions, identity, interruption],
        )


def _values(lab: Lab, names: Names) -> Mapping[str, object]:
    """The chart's values; the others keep their defaults, so it tolerates CriticalAddonsOnly and never runs on its own
    nodes."""
    return {
        # Two pods of it never share a node.
        "replicas": min(REPLICAS, lab.cluster.system_nodes.nodes),
        "controller": {"resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}}},
        "settings": {
            "clusterName": lab.cluster_name,
            "interruptionQueue": names.karpenter_queue,
            "eksControlPlane": True,
            # It asks neither IAM nor the price list: controller_rights.py.
            "isolatedVPC": True,
            "featureGates": {"staticCapacity": True},
        },
    }
