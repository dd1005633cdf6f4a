"""What all NodePools of a lab share: rights in Kubernetes, the launch bar, the roles of the nodes, and Karpenter.

The bar is there, and a deploy has tried it, before a NodePool is: without a lease no claim of a NodePool is ever born.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable

from lamplighter.domain.capacity.node_pool import access, launch_bar
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE
from stacks.constructs.cluster.kubectl import Kubectl
from stacks.constructs.karpenter.installation import KarpenterInstallation
from stacks.constructs.nodes.surroundings import Surroundings
from stacks.constructs.pool.node_pool.bar_tried import launch_bar_step
from stacks.constructs.pool.node_pool.node_role import BY_KIND, NodeRole


class NodePoolsShared(Construct):
    """`node_roles` by the kind of pools; a NodePool comes after everything in `before_pools`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        around: Surroundings,
        cluster: Construct,
        kubectl: Kubectl,
        rbac: IDependable,
        system: Sequence[IDependable],
    ) -> None:
        super().__init__(scope, construct_id)
        lab, names = around.lab, around.names
        self.kubectl = kubectl
        kinds = dict.fromkeys(lab.pools[pool].kind for pool in lab.pools_with("node pool"))
        self.node_roles: Mapping[str, NodeRole] = {
            kind: NodeRole(
                self,
                f"NodesOf-{kind}",
                identity=BY_KIND[kind],
                cluster_name=around.cluster_name,
                names=names,
            )
            for kind in kinds
        }
        if AUTO_MODE.code in self.node_roles:
            # EKS has an instance profile of the role until the cluster is deleted: the role is deleted after it.
            cluster.node.add_dependency(self.node_roles[AUTO_MODE.code].role)
        karpenter = lab.cluster.karpenter
        installation = None
        if karpenter is not None and not karpenter.existing:
            installation = KarpenterInstallation(
                self,
                "Karpenter",
                lab=lab,
                version=karpenter.version,
                names=names,
                cluster_name=around.cluster_name,
                kubectl=kubectl,
                node_role_arns=[
                    role.role.role_arn for kind, role in self.node_roles.items() if kind == "karpenter"
                ],
                after=system,
            )
        rights = kubectl.manifest("NodePoolRights", access.documents(lab))
        rights.node.add_dependency(rbac)
        bar = kubectl.manifest("LaunchBar", launch_bar.documents(lab))
        bar.node.add_dependency(rbac)
        self._entry = eks.CfnAccessEntry(
            self,
            "GatekeeperAccess",
            cluster_name=around.cluster_name,
            principal_arn=around.gatekeeper.role.role_arn,
            kubernetes_groups=[Group.GATEKEEPER.of(lab.name)],
            type="STANDARD",
        )
        tried = launch_bar_step(self, lab, cluster_name=around.cluster_name, function=around.gatekeeper)
        tried.node.add_dependency(bar, rights, self._entry)
        if installation is not None:
            # A claim can be tried where its definition is.
            tried.node.add_dependency(installation.definitions)
        self.before_pools: list[IDependable] = [
            tried,
            *(role.entry for role in self.node_roles.values()),
            *([installation.installed] if installation else []),
        ]

    @property
    def roles(self) -> list[iam.Role]:
        """The roles of the nodes."""
        return [each.role for each in self.node_roles.values()]
