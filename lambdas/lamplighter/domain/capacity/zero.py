"""Law 7: a pool counts as closed only when it is proven that nothing of it is left.

This is the only definition. CloseLab's step ProveZero, the guard, a destroy and the receipts use it; what they do
about the rest is theirs. Each kind of capacity fills the proof from what was seen.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.values import instant

PROVEN = "zero-proven"
"""The kind of the audit entry that keeps a proof; its `nodes` are those that leases justified then."""


@dataclass(frozen=True, slots=True)
class ZeroProof:
    """What AWS and Kubernetes had of a pool at one instant."""

    at: datetime | None = None
    desired: int = 0
    """The ordered size: the largest, where more than one place keeps it."""
    instances: tuple[str, ...] = ()
    """Instances that are not terminated yet."""
    parked: tuple[str, ...] = ()
    """Those that a warm pool has stopped: they run no node now, and come back."""
    members: tuple[str, ...] = ()
    """Instances that the controller lists."""
    kubernetes_nodes: tuple[str, ...] | None = None
    """None where Kubernetes was not read: that proves nothing."""
    nodeclaims: tuple[str, ...] | None = None
    """Claims of a NodePool that are left; None where the kind has none."""
    remarks: tuple[Reason, ...] = ()
    """What is left without an instance: it costs nothing, so it is no leak."""
    unread: bool = False
    """Whether the order was not read: that proves nothing either."""
    justified: int = 0
    """Nodes that running leases justify: so many may stay."""

    @property
    def proven(self) -> bool:
        """Whether nothing is left beyond the justified nodes."""
        return not self.left

    @property
    def left(self) -> tuple[Reason, ...]:
        """What speaks against the proof; empty where it is proven."""
        found: list[Reason] = []
        if self.unread:
            found.append(reason("guard.zero.order-not-read"))
        if self.desired > self.justified:
            found.append(reason("guard.zero.ordered", nodes=self.desired))
        running = tuple(instance for instance in self.instances if instance not in self.parked)
        if len(running) > self.justified:
            found.append(reason("guard.zero.instances", instances=running))
        if self.parked:
            found.append(reason("guard.zero.parked", instances=self.parked))
        beside = tuple(member for member in self.members if member not in self.instances)
        if beside and len(self.members) > self.justified:
            # A kind with claims counts here only those whose instance runs, or was launched a moment ago.
            of_group = self.nodeclaims is None
            code = "guard.zero.members" if of_group else "guard.zero.launched"
            found.append(reason(code, instances=beside))
        if self.kubernetes_nodes is None:
            found.append(reason("guard.zero.not-read"))
        elif len(self.kubernetes_nodes) > self.justified:
            found.append(reason("guard.zero.kubernetes", names=self.kubernetes_nodes))
        return tuple(found)

    def reason(self, pool: str) -> Said:
        """What is left of the pool, or what is proven."""
        left = self.left
        if left:
            return left[0] if len(left) == 1 else Sentences(left)
        if self.justified:
            return reason("guard.zero.only-leased", pool=pool, nodes=self.justified)
        return reason("guard.zero.proven", pool=pool)

    def to_json(self) -> dict[str, object]:
        """The contract's `proof_of_zero`."""
        return {
            "at": None if self.at is None else instant.written(self.at),
            "desired": self.desired,
            "instances": list(self.instances),
            "kubernetes_nodes": list(self.kubernetes_nodes or ()),
            **self._of_claims(),
        }

    def _of_claims(self) -> dict[str, object]:
        if self.nodeclaims is None:
            return {}
        return {"nodeclaims": list(self.nodeclaims), "remarks": [document(each) for each in self.remarks]}

    @classmethod
    def from_json(cls, kept: Mapping[str, object]) -> "ZeroProof":
        """Reads what to_json wrote; a document without an instant proves nothing."""
        at = kept.get("at")
        nodes = _names(kept.get("kubernetes_nodes"))
        return cls(
            at=instant.read(str(at)) if at else None,
            desired=int(str(kept.get("desired") or 0)),
            instances=_names(kept.get("instances")),
            kubernetes_nodes=nodes if at or nodes else None,
            nodeclaims=_names(kept["nodeclaims"]) if "nodeclaims" in kept else None,
            remarks=tuple(_remarks(kept.get("remarks"))),
        )


def _names(kept: object) -> tuple[str, ...]:
    return tuple(str(name) for name in kept) if isinstance(kept, list | tuple) else ()


def _remarks(kept: object) -> Iterator[Reason]:
    for each in kept if isinstance(kept, list | tuple) else ():
        remark = read(each)
        if isinstance(remark, Reason):
            yield remark
