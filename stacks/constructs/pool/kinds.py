"""The kind of each pool, chosen here for its constructs. Today every pool is a managed node group."""

from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.constructs.functions.functions import Function
from stacks.constructs.nodes.surroundings import Surroundings
from stacks.constructs.pool.gpu_pool import GpuPool
from stacks.constructs.pool.kind import PoolConstruct, Rail
from stacks.constructs.pool.node_group_rails import node_group_rails
from stacks.constructs.pool.node_pool_rails import node_pool_rails
from stacks.names import Names


def pool_construct(scope: Construct, pool: str, around: Surroundings) -> PoolConstruct:
    """The resources of a pool that the lab creates."""
    return GpuPool(scope, f"Pool-{pool}", pool=pool, around=around)


def rails(
    scope: Construct, *, lab: Lab, names: Names, pool: str, deploy: Function, digest: str
) -> tuple[Rail, ...]:
    """The calls by which the curfew brings a pool to zero. `digest` changes with the lab."""
    if pool in lab.node_pools:
        return node_pool_rails(lab=lab, names=names, pool=pool)
    return node_group_rails(scope, lab=lab, names=names, pool=pool, deploy=deploy, digest=digest)
