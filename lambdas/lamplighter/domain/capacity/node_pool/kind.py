"""The pure half of the port for NodePools: their names, and what proves one to be at zero."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

LABEL = "karpenter.sh/nodepool"
"""Karpenter puts it on every claim and node."""
CLUSTER_TAG = "eks:eks-cluster-name"


@dataclass(frozen=True)
class NodePoolKind:
    """The kind of every pool that is a NodePool; `code` is its name in a lab file."""

    code: str
    pool_tag: str
    """The EC2 tag with the NodePool's name, which nobody but the controller may set."""

    def identity(self, lab: "Lab", pool: str) -> Identity:
        """The names of a pool's NodePool, nodes and instances."""
        name, cluster = lab.node_pool_name(pool), lab.cluster_name
        return Identity(
            pool=pool,
            cluster=cluster,
            name=name,
            label=LABEL,
            tags={self.pool_tag: name, CLUSTER_TAG: cluster},
            missing=reason("capacity.no-node-pool", pool=pool, name=name, cluster=cluster),
        )

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> ZeroProof:
        """The proof: EC2 has no instance with the pool's tags, and nothing is ordered.

        A claim or a node without an instance costs nothing.
        """
        return ZeroProof(
            at=at,
            desired=max(seen.controller.size if seen.controller else 0, seen.ordered),
            instances=tuple(instance.id for instance in seen.existing),
            members=tuple(member.instance for member in seen.members),
            kubernetes_nodes=kubernetes_nodes,
            nodeclaims=tuple(claim.name for claim in seen.claims),
            justified=justified,
        )


KARPENTER = NodePoolKind("karpenter", "karpenter.sh/nodepool")
AUTO_MODE = NodePoolKind("auto-mode", "eks:kubernetes-node-pool-name")
