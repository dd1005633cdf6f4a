"""The lab file that adopts a NodePool of Karpenter or of EKS Auto Mode."""

from collections.abc import Iterator, Sequence

from lamplighter.data import instance_types, prices
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.pool.adoption import ExistingCluster
from lamplighter.domain.pool.node_pool_adoption import ExistingNodePool
from lamplighter.lab.kinds import KINDS, Code

CURRENCY = "USD"


def pool_lines(
    cluster: ExistingCluster, pool: ExistingNodePool, role: str | None
) -> tuple[list[str], list[str]]:
    """What the file says first, and its `cluster` and `pools`. `role` is that of Karpenter, where it is known."""
    size = (
        "It is static: a lease sets its replicas."
        if pool.static
        else "It is dynamic: pods start its nodes, up to the limit that a lease sets."
    )
    head = [f"# Adopts NodePool {pool.name} of cluster {cluster.name}, Kubernetes {cluster.version}. {size}"]
    return head, [*_cluster(cluster, pool, role), "pools:", "  gpu:", *_pool(cluster, pool)]


def _cluster(cluster: ExistingCluster, pool: ExistingNodePool, role: str | None) -> Iterator[str]:
    yield "cluster:"
    yield f"  existing: {cluster.name}"
    if pool.kind != KARPENTER.code:
        yield "  auto_mode: {enabled: true}"
    elif role:
        yield f"  karpenter: {{existing: true, role: {role}}}"
    else:
        yield "  karpenter: {existing: true}  # role: its IAM role, so that the failsafe can deny it launches"


def _pool(cluster: ExistingCluster, pool: ExistingNodePool) -> Iterator[str]:
    with_gpu = [name for name in pool.instance_types if not instance_types.has_no_gpu(name)]
    yield f"    kind: {pool.kind}"
    yield f"    existing: {pool.name}"
    if with_gpu:
        yield types_line(with_gpu)
    else:
        yield "    # instance_type: g5.xlarge  # needed: the NodePool names no type with a GPU"
    most = pool.most or pool.replicas
    if most:
        yield f"    max_nodes: {most}"
    else:
        yield "    max_nodes: 1  # the NodePool states no number of nodes above 0"
    yield from price_lines(cluster, pool.kind, with_gpu)


def types_line(types: Sequence[str]) -> str:
    """The key with the type of the nodes, or with the types."""
    return (
        f"    instance_type: {types[0]}" if len(types) == 1 else f"    instance_types: [{', '.join(types)}]"
    )


def price_lines(cluster: ExistingCluster, kind: Code, types: Sequence[str]) -> Iterator[str]:
    """The key with the price of a node, to be filled in where the price of a type is not known."""
    if prices.dearest(cluster.region, types, CURRENCY, fee="fee" in KINDS[kind].traits) is None:
        nodes = " and ".join(types) or "its nodes"
        yield f'    # price_per_hour: "1.00"  # {CURRENCY}; needed: no price of {nodes} is known here'
