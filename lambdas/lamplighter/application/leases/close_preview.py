"""What `close --all` would end on a pool now, and what it would leave. It changes nothing."""

from dataclasses import dataclass
from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.leases.lease import Lease, LeaseState


@dataclass(frozen=True, slots=True)
class ClosePreview:
    """The leases that would end, the nodes that no lease justifies, and the leases that open later."""

    ending: tuple[Lease, ...]
    nodes_without_lease: int
    later: tuple[Lease, ...]


def close_preview(capacity: CapacityServices, pool: str, now: datetime) -> ClosePreview:
    """What an order to close the whole pool would find at this instant."""
    leases = capacity.ledger.leases(pool)
    ending = tuple(lease for lease in leases if lease.unfinished(now))
    ordered = capacity.see(pool, {Part.SIZE}).ordered
    return ClosePreview(
        ending,
        max(0, ordered - sum(lease.nodes for lease in ending)),
        tuple(lease for lease in leases if _opens_later(lease, now)),
    )


def _opens_later(lease: Lease, now: datetime) -> bool:
    return lease.opens > now and (lease.granted or lease.state is LeaseState.PLANNED)
