"""The pure half of the port for NodePools: their names, and what proves one to be at zero."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

from lamplighter.domain.capacity.evidence import Claim, Part, Seen
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.lab.kinds import Code
    from lamplighter.lab.model import Lab

LABEL = "karpenter.sh/nodepool"
"""Karpenter puts it on every claim and node."""
AUTO_MODE_LABEL = ("eks.amazonaws.com/compute-type", "auto")
"""The label of a node of EKS Auto Mode, in a cluster that may have other nodes too."""
CLUSTER_TAG = "eks:eks-cluster-name"
LISTED_AFTER = timedelta(minutes=2)
"""So long EC2 may not list an instance that its controller has launched [est].

AWS names no time: "a few minutes" at most (https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html).
"""


@dataclass(frozen=True)
class NodePoolKind:
    """The kind of every pool that is a NodePool; `code` is its name in a lab file."""

    code: "Code"
    pool_tag: str
    """The EC2 tag with the NodePool's name. The controller sets it at the launch.

    A person who may tag instances can change it later, also on those of Auto Mode. Then the instance is no longer the
    pool's, and the guard reports it as outside the pools, by a tag of the cluster.
    """
    started_tag: str
    """An EC2 tag of instances that the controller started. Karpenter sets it when the node has joined."""
    shown_by_ec2: bool
    """AWS lets nobody end the instances of Auto Mode."""
    off_switch_needs: ClassVar[frozenset[Part]] = frozenset()
    remembers: ClassVar[bool] = False
    history_needs: ClassVar[frozenset[Part]] = frozenset()

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

        Karpenter keeps a claim and a node until it has ended their instance, and for ever where it is dead. Without an
        instance they cost nothing: a remark. But an instance that was launched just now runs before EC2 lists it.
        """
        exist = {instance.id for instance in seen.existing}
        known = {instance.id for instance in seen.instances}
        hosts = exist | {instance.private_dns for instance in seen.existing}
        nodes = tuple(kubernetes_nodes or ())
        alone = tuple(name for name in nodes if name not in hosts)
        named = tuple(
            claim
            for claim in seen.claims
            if claim.instance in exist or (claim.instance not in known and _launched_now(claim, at))
        )
        empty = tuple(claim.name for claim in seen.claims if claim not in named)
        return ZeroProof(
            at=at,
            desired=max(seen.controller.size if seen.controller else 0, seen.ordered),
            instances=tuple(instance.id for instance in seen.existing),
            members=tuple(claim.instance for claim in named),
            kubernetes_nodes=None
            if kubernetes_nodes is None
            else tuple(name for name in nodes if name in hosts),
            nodeclaims=tuple(claim.name for claim in seen.claims),
            remarks=tuple(_remarks(empty, alone)),
            unread=seen.unread,
            justified=justified,
        )


def _launched_now(claim: Claim, at: datetime) -> bool:
    """Whether it names an instance, launched so lately that EC2 may not list it yet."""
    launched = claim.stages.get("Launched", claim.created)
    return bool(claim.instance) and launched is not None and at - launched < LISTED_AFTER


def _remarks(claims: tuple[str, ...], nodes: tuple[str, ...]) -> Iterator[Reason]:
    if claims:
        yield reason("guard.zero.claims-alone", names=claims)
    if nodes:
        yield reason("guard.zero.nodes-alone", names=nodes)


KARPENTER = NodePoolKind("karpenter", LABEL, "karpenter.sh/nodeclaim", shown_by_ec2=True)
AUTO_MODE = NodePoolKind(
    "auto-mode", "eks:kubernetes-node-pool-name", "aws:ec2:managed-launch", shown_by_ec2=False
)
