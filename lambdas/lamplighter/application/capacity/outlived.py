"""Kept nodes that a lease would outlive: of a NodePool each node has a life, and its controller ends it in mid-lease.

A life is longer than any lease. Leases that follow each other keep their nodes, and together they may be longer.
"""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.capacity.sizes import still_writing
from lamplighter.domain.audit.entry import CAPACITY, Entry
from lamplighter.domain.capacity.evidence import SIZES, Claim
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason


def first_expiry(claims: Iterable[Claim]) -> datetime | None:
    """When the first of the nodes that stay is replaced by its controller; None for never."""
    return min((claim.expires for claim in claims if claim.expires and not claim.leaving), default=None)


def replace_outlived(capacity: CapacityServices, lease: Lease, holder: str) -> None:
    """Replace, once for a lease that opens, the running nodes that would not live until its end.

    Beside another running lease none is replaced: nobody can tell whose work is on it.
    """
    if lease.pool not in capacity.lab.pools_with("claims"):
        return
    now = capacity.now()
    with capacity.ledger.writing(lease.pool, holder, now) as fence:
        if any(other.id != lease.id and other.in_force(now) for other in capacity.ledger.leases(lease.pool)):
            return
        seen = capacity.see(lease.pool, SIZES)
        if seen.dynamic:
            return
        staying = {member.instance for member in seen.staying}
        old = [claim for claim in seen.claims if claim.expires and claim.expires < lease.closes]
        outlived = [claim.instance for claim in old if claim.instance in staying]
        if outlived:
            recorded = capacity.ledger.replace_once(lease, outlived, _entry(lease, outlived, old, now))
            still_writing(capacity, fence)
            going = [instance for instance in outlived if instance in recorded]
            capacity.of(lease.pool).remove(lease.pool, going, Removal.REPLACED, seen)


def _entry(lease: Lease, instances: list[str], old: list[Claim], now: datetime) -> Entry:
    what = reason("capacity.replaces", nodes=tuple(instances), lease=lease.called())
    why = reason("capacity.outlived", at=first_expiry(old) or now, until=lease.closes)
    return Entry(now, lease.pool, "replaced", CAPACITY, what, why, lease.id, len(instances))
