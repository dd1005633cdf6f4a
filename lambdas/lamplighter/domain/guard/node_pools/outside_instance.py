"""A GPU instance of the cluster that belongs to no pool of the lab, with what could end it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.evidence import Claim, Instance
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

OWNED_TAG, OWNED = "kubernetes.io/cluster/{cluster}", "owned"
"""The EC2 tag by which the guard may end an instance of the cluster in EC2."""


@dataclass(frozen=True)
class OutsideInstance:
    """One instance, and what could end it."""

    instance: Instance
    node_pool: str = ""
    """The NodePool that its tags name."""
    managed: bool = False
    """Whether EKS Auto Mode started it: AWS lets nobody end it in EC2."""
    claims_read: bool = True
    claim: Claim | None = None

    @property
    def subject(self) -> str:
        """What it is reported and ended by: all instances of a NodePool together."""
        return self.node_pool or self.instance.id


def owns_the_cluster(lab: "Lab") -> bool:
    """Whether the lab made its cluster: in somebody else's the guard ends nothing outside its pools."""
    return lab.cluster.existing is None


def outside_instance(
    instance: Instance, tags: Mapping[str, str], claims: Mapping[str, Claim] | None
) -> OutsideInstance:
    """An instance with its tags, and the claims by their instance; None where Kubernetes did not answer."""
    return OutsideInstance(
        instance,
        node_pool=tags.get(KARPENTER.pool_tag) or tags.get(AUTO_MODE.pool_tag, ""),
        managed=AUTO_MODE.pool_tag in tags or AUTO_MODE.started_tag in tags,
        claims_read=claims is not None,
        claim=(claims or {}).get(instance.id),
    )
