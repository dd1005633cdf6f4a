"""What Kubernetes holds of a pool that a NodePool sizes: the NodePool, its class and its claims, without other pools'.

A NodePool is one of open-source Karpenter or of EKS Auto Mode. The claim of a failed launch is gone within seconds,
so that only its events tell of it. Their object then tells the NodePool by its name: Karpenter adds five characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from lamplighter.domain.capacity.node_pool.claim_names import is_claim_of
from lamplighter.domain.diagnosis.document import NOTHING, Doc, at, doc, docs, number, text
from lamplighter.domain.diagnosis.rules.node_pool.claim import NODE_POOL_LABEL, NodeClaim

KARPENTER_GROUP = "karpenter.k8s.aws"
AUTO_MODE_GROUP = "eks.amazonaws.com"


@dataclass(frozen=True)
class NodePoolEvidence:
    """The documents about the pool's NodePool, as far as they were read."""

    stated: str
    """The name of the NodePool, where the snapshot states it."""
    pool: str
    instance_type: str
    has_group: bool
    """Whether the pool is a managed node group."""
    pools: Sequence[Doc]
    items: Sequence[Doc]
    """The NodeClaims of the cluster."""
    classes: Sequence[Doc]

    @cached_property
    def document(self) -> Doc:
        """The NodePool; empty if none was read."""
        named = {text(item, "metadata", "name"): item for item in self.pools}
        for name in (self.stated, self.pool):
            if name and name in named:
                return named[name]
        if self.stated:
            return NOTHING
        # Of lab-big-gpu and lab-gpu, the pool gpu is the one with less before it.
        ours = sorted((name for name in named if self.pool and name.endswith(f"-{self.pool}")), key=len)
        alone = list(named) if len(named) == 1 and not self.has_group else []
        return named[(ours or alone)[0]] if ours or alone else NOTHING

    @property
    def name(self) -> str:
        """The name of the NodePool; "" if it is not known."""
        return self.stated or text(self.document, "metadata", "name")

    @cached_property
    def claims(self) -> list[NodeClaim]:
        """The pool's NodeClaims, with those that are being deleted."""
        return [claim for claim in map(NodeClaim, self.items) if self._owns(claim)]

    @cached_property
    def staying(self) -> list[NodeClaim]:
        """The pool's NodeClaims that nobody deletes."""
        return [claim for claim in self.claims if claim.leaves is None]

    @property
    def static(self) -> bool:
        """Whether the NodePool itself states how many nodes it has; the nodes of others come with pods."""
        return at(self.document, "spec", "replicas") is not None

    @property
    def replicas(self) -> int | None:
        return number(self.document, "spec", "replicas")

    @property
    def most(self) -> int | None:
        """The most nodes that its limit allows."""
        return number(self.document, "spec", "limits", "nodes")

    @property
    def class_reference(self) -> Doc:
        return doc(self.document, "spec", "template", "spec", "nodeClassRef")

    @property
    def group(self) -> str:
        """The API group of its class, which tells Karpenter from EKS Auto Mode."""
        return text(self.class_reference, "group")

    @cached_property
    def node_class(self) -> Doc:
        """The NodeClass that the NodePool names; empty if it was not read or does not exist."""
        name = text(self.class_reference, "name")
        return next(
            (item for item in self.classes if name and text(item, "metadata", "name") == name), NOTHING
        )

    @property
    def requirements(self) -> list[Doc]:
        return docs(self.document, "spec", "template", "spec", "requirements")

    def tells(self, kind: str, name: str) -> bool:
        """Whether an event about this NodeClaim or NodePool is about the pool."""
        if kind == "NodePool":
            return not self.name or name == self.name
        if name in self._claims_by_name:
            return self._owns(self._claims_by_name[name])
        pools = [self.name] if self.name else [text(item, "metadata", "name") for item in self.pools]
        owned = name.rpartition("-")[0] in pools or any(is_claim_of(name, pool) for pool in pools)
        return owned if self.name else not owned

    @cached_property
    def _claims_by_name(self) -> dict[str, NodeClaim]:
        return {claim.name: claim for claim in map(NodeClaim, self.items)}

    def _owns(self, claim: NodeClaim) -> bool:
        owner = text(claim.labels, NODE_POOL_LABEL)
        if not owner or owner in {self.name, self.pool}:
            return True
        if self.name:
            return False
        if self.pool and owner.endswith(f"-{self.pool}"):
            return True
        return bool(self.instance_type) and self.instance_type in claim.instance_types
