"""The kind of each pool, chosen here for its constructs."""

from collections.abc import Sequence
from typing import assert_never

from constructs import Construct, IDependable

from lamplighter.lab.model import Lab
from stacks.constructs.cluster.kubectl import Kubectl
from stacks.constructs.functions.functions import Function
from stacks.constructs.nodes.surroundings import Surroundings
from stacks.constructs.pool.gpu_pool import GpuPool
from stacks.constructs.pool.kind import PoolConstruct, Rail
from stacks.constructs.pool.node_group_rails import node_group_rails
from stacks.constructs.pool.node_pool.node_pool import NodePool
from stacks.constructs.pool.node_pool.shared import NodePoolsShared
from stacks.constructs.pool.node_pool_rails import node_pool_rails
from stacks.names import Names


def node_pools_shared(
    scope: Construct,
    around: Surroundings,
    *,
    cluster: Construct,
    kubectl: Kubectl,
    rbac: IDependable,
    system: Sequence[IDependable],
) -> NodePoolsShared | None:
    """What the NodePools of the lab share, if it has any."""
    if not around.lab.pools_with("node pool"):
        return None
    return NodePoolsShared(
        scope, "NodePools", around=around, cluster=cluster, kubectl=kubectl, rbac=rbac, system=system
    )


def pool_construct(
    scope: Construct, pool: str, around: Surroundings, shared: NodePoolsShared | None
) -> PoolConstruct:
    """The resources of a pool that the lab creates. `shared` is there if the lab has a NodePool."""
    kind = around.lab.pools[pool].kind
    match kind:
        case "node-group":
            return GpuPool(scope, f"Pool-{pool}", pool=pool, around=around)
        case "karpenter" | "auto-mode":
            if shared is None:
                raise ValueError(pool)
            return NodePool(scope, f"Pool-{pool}", pool=pool, around=around, shared=shared)
        case _:
            assert_never(kind)


def rails(
    scope: Construct, *, lab: Lab, names: Names, pool: str, deploy: Function, digest: str
) -> tuple[Rail, ...]:
    """The calls by which the curfew brings a pool to zero. `digest` changes with the lab."""
    kind = lab.pools[pool].kind
    match kind:
        case "node-group":
            return node_group_rails(scope, lab=lab, names=names, pool=pool, deploy=deploy, digest=digest)
        case "karpenter" | "auto-mode":
            return node_pool_rails(lab=lab, names=names, pool=pool)
        case _:
            assert_never(kind)
