"""How many pods may hold a GPU at once: GPUs by slices by shares, as the nodes show them or as expected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamplighter.data import instance_types
from lamplighter.domain.gpu.offer import Offer
from lamplighter.domain.gpu.sharing import offer
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.target import first_opened
from lamplighter.lab.model import Lab
from lamplighter.reasons.fields import from_odd_document


@dataclass(frozen=True, slots=True)
class Seats:
    """Pods that may hold a GPU, or a part of one, at once."""

    count: int
    offer: Offer
    seen: bool
    """Whether the nodes show so many; else the number follows from the settings and the instance type."""

    def __str__(self) -> str:
        shared = f" ({self.offer.called})" if self.offer.seats(1) > 1 else ""
        return f"{'' if self.seen else 'expected '}{self.count}{shared}"

    def to_json(self) -> dict[str, object]:
        """As `status --json` has it."""
        return {
            "count": self.count,
            "per_gpu": self.offer.seats(1),
            "replicas": self.offer.replicas,
            "strategy": self.offer.strategy,
            "slices": self.offer.slices,
            "seen": self.seen,
        }


def seats(
    lab: Lab, pool: str, leases: Sequence[Lease], nodes: int, kept: Sequence[Mapping[str, object]]
) -> Seats | None:
    """The seats that these leases have on a pool; None where there are none or its GPUs are not known.

    `kept` is how the leases' GPUs were offered, by the ledger. The settings are those of the lease that
    opened first, as when the nodes were labelled.
    """
    first = first_opened(leases)
    if first is None:
        return None
    counted = max((_seats(each) for each in kept), default=0)
    if counted:
        shown = from_odd_document(Offer, max(kept, key=_seats).get("offer"))
        return Seats(counted, shown, seen=True)
    shall = offer(lab, pool, first.window)
    kind = instance_types.gpu_type(lab.pools[pool].instance_type)
    return Seats(shall.seats(nodes * kind.gpus), shall, seen=False) if kind else None


def _seats(kept: Mapping[str, object]) -> int:
    return int(str(kept.get("seats") or 0))
