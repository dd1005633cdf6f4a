"""The pure half of the port for node groups: their names, and what proves one to be at zero."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from lamplighter.domain.capacity.evidence import SIZES, Part, Seen
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.lab.kinds import Code
    from lamplighter.lab.model import Lab

LABEL = "eks.amazonaws.com/nodegroup"
"""EKS puts it on every node of a managed group."""
NAME_TAG, CLUSTER_TAG = "eks:nodegroup-name", "eks:cluster-name"


@dataclass(frozen=True)
class NodeGroupKind:
    """The kind of every pool that is a managed node group; `code` is its name in a lab file."""

    code: "Code"
    off_switch_needs: ClassVar[frozenset[Part]] = SIZES
    """EKS alone knows the name of the Auto Scaling group."""
    remembers: ClassVar[bool] = True
    history_needs: ClassVar[frozenset[Part]] = frozenset({Part.SIZE})
    shown_by_ec2: ClassVar[bool] = False
    """Its group replaces what EC2 ends."""

    def identity(self, lab: "Lab", pool: str) -> Identity:
        """The names of a pool's node group, nodes and instances."""
        name, cluster = lab.nodegroup_name(pool), lab.cluster_name
        return Identity(
            pool=pool,
            cluster=cluster,
            name=name,
            label=LABEL,
            tags={NAME_TAG: name, CLUSTER_TAG: cluster},
            missing=reason("capacity.no-node-group", pool=pool, group=name, cluster=cluster),
        )

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> ZeroProof:
        """The proof: EKS and the Auto Scaling group order nothing, and neither it nor EC2 has an instance.

        A group that does not exist has nothing.
        """
        return ZeroProof(
            at=at,
            desired=max(seen.controller.size if seen.controller else 0, seen.ordered),
            instances=tuple(instance.id for instance in seen.existing),
            parked=tuple(instance.id for instance in seen.existing if instance.parked),
            members=tuple(member.instance for member in seen.members),
            kubernetes_nodes=kubernetes_nodes,
            justified=justified,
        )
