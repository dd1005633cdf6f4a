"""A pool that is a NodePool: it keeps its size, and a deploy changes it only while no lease uses it.

As with a node group, the size is read only when a deploy changes the NodePool: `kubectl apply` would write the text's
own number otherwise. Before a change the gate reads the leases.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import Token
from aws_cdk import aws_iam as iam
from constructs import Construct, IDependable

from lamplighter.domain.capacity.node_group.edit import NodeGroupSides
from lamplighter.domain.capacity.node_pool.roles import launching_role
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.nodes.surroundings import Surroundings
from stacks.constructs.pool.node_pool.auto_mode_node_class import auto_mode_node_class
from stacks.constructs.pool.node_pool.digest import digest
from stacks.constructs.pool.node_pool.ec2_node_class import ec2_node_class
from stacks.constructs.pool.node_pool.manifest import node_pool
from stacks.constructs.pool.node_pool.shared import NodePoolsShared


class NodePool(Construct):
    """The node class, gate, present size and NodePool of one pool."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        pool: str,
        around: Surroundings,
        shared: NodePoolsShared,
    ) -> None:
        super().__init__(scope, construct_id)
        lab = around.lab
        name = lab.node_pool_name(pool)
        subnets = [around.subnets[index].ref for index in lab.pools[pool].zone_indexes]
        named = shared.node_roles[lab.pools[pool].kind].named
        if lab.pools[pool].has("karpenter"):
            of_nodes = ec2_node_class(
                lab, pool, profile=named, subnets=subnets, security_groups=around.groups_of(pool)
            )
        else:
            of_nodes = auto_mode_node_class(
                lab, pool, role=named, subnets=subnets, security_groups=around.groups_of(pool)
            )
        changed = digest(self, of_nodes, node_pool(lab, pool, replicas=0))
        self._gate = deploy_step(
            self,
            "Gate",
            kind="Gate",
            function=around.gatekeeper,
            properties={
                "Pool": pool,
                "Cluster": around.cluster_name,
                "NodePool": name,
                "Digest": changed,
            },
        )
        self._gate.node.add_dependency(*shared.before_pools)
        node_class = shared.kubectl.manifest(f"NodeClass-{pool}", [of_nodes])
        node_class.node.add_dependency(self._gate)
        size = deploy_step(
            self,
            "Size",
            kind="NodePoolSize",
            function=around.gatekeeper,
            properties={
                "Pool": pool,
                "Cluster": around.cluster_name,
                "NodePool": name,
                # The step takes the failsafe's lock off this role when the pool goes: IAM would keep the role.
                "Launches": launching_role(lab, pool) or "",
                "Digest": changed,
            },
        )
        # Right before the change: while the gate is closed, nobody can open the pool.
        size.node.add_dependency(self._gate, node_class)
        made = shared.kubectl.manifest(
            f"NodePool-{pool}",
            [node_pool(lab, pool, replicas=Token.as_number(size.get_att("Replicas")))],
        )
        made.node.add_dependency(node_class)

    @property
    def roles(self) -> Sequence[iam.Role]:
        """None of its own: the pools of a kind share the role of their nodes."""
        return []

    def edits(self) -> Mapping[str, NodeGroupSides]:
        """None: EKS knows nothing of a NodePool, so it refuses no edit of it halfway."""
        return {}

    def comes_after(self, *others: IDependable) -> None:
        """The pool comes after all these, so that its gate is closed for a short time only."""
        self._gate.node.add_dependency(*others)
