"""A capacity reservation of the account, the hours in which leases may use it, and whether it fits its pool.

Facts of it are AWS's: the lab file has only its id and what it should be. The ledger keeps what was read last.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from lamplighter.reasons.reason import Reason, Said, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

BLOCK_ENDS_EARLY = timedelta(minutes=45)
"""EKS begins to end a Capacity Block's nodes 40 minutes before the block's end, and EC2 ends its instances from 30
minutes before it (EKS user guide, capacity-blocks-mng)."""
GONE = "gone"
"""The state of one that EC2 no longer knows."""
COMING = frozenset({"active", "assessing", "delayed", "payment-pending", "pending", "scheduled"})
"""The states in which it has its nodes, or will have them (EC2 API reference, CapacityReservation.State)."""
OUTSIDE = frozenset(
    {
        "lease.before-reservation",
        "lease.outside-reservation",
        "lease.reservation-over",
        "lease.reservation-unread",
    }
)
"""The codes of the refusals of `ReservedHours`."""


class ReservationType(StrEnum):
    """What a reservation is; the values are those of the lab file."""

    ON_DEMAND = "on-demand"
    BLOCK = "capacity-block"


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation as EC2 describes it."""

    id: str
    type: ReservationType
    state: str
    instance_type: str
    zone: str
    count: int
    targeted: bool
    """Whether only launches that name it get its nodes: an open one is anybody's in the account."""
    begins: datetime
    ends: datetime | None = None
    """None: until somebody cancels it."""

    @property
    def closes(self) -> datetime | None:
        """The instant until which a lease may have its nodes."""
        if self.ends is None or self.type is not ReservationType.BLOCK:
            return self.ends
        return self.ends - BLOCK_ENDS_EARLY


@dataclass(frozen=True, slots=True)
class ReservedHours:
    """The hours of a pool that is bought from a reservation: its leases lie within them."""

    pool: str
    id: str
    known: Reservation | None
    """As it was read last; None: it was never read, so no lease is granted."""

    @property
    def closes(self) -> datetime | None:
        """The latest end of a lease, where there is one."""
        return self.known.closes if self.known else None

    @property
    def begins(self) -> datetime | None:
        """When it has its nodes first, where that is known."""
        return self.known.begins if self.known else None

    def has_nodes_at(self, at: datetime) -> bool:
        """Whether it has its nodes now and still has them at an instant."""
        active = self.known is not None and self.known.state == "active"
        return active and (self.closes is None or at < self.closes)

    def refusal(self, opens: datetime, closes: datetime) -> Reason | None:
        """Why no lease runs over [opens, closes); None: the reservation has its nodes then."""
        if self.known is None:
            return reason("lease.reservation-unread", pool=self.pool, reservation=self.id)
        if self.known.state not in COMING:
            return reason(
                "lease.reservation-over", pool=self.pool, reservation=self.id, state=self.known.state
            )
        until = self.closes
        if self.known.begins <= opens and (until is None or closes <= until):
            return None
        if until is None:
            return reason(
                "lease.before-reservation", pool=self.pool, reservation=self.id, opens=self.known.begins
            )
        return reason(
            "lease.outside-reservation",
            pool=self.pool,
            reservation=self.id,
            opens=self.known.begins,
            closes=until,
        )


@dataclass(frozen=True, slots=True)
class WantedReservation:
    """What a pool of the lab needs of its reservation."""

    pool: str
    id: str
    type: ReservationType
    instance_type: str
    zone: str


def wanted(lab: "Lab", pool: str) -> WantedReservation | None:
    """What a pool needs; None for one that is not bought from a reservation."""
    of_lab = lab.pools[pool]
    if of_lab.reservation is None:
        return None
    type_, zone = ReservationType(of_lab.reservation_type), lab.cluster.zones[of_lab.zone_index]
    return WantedReservation(pool, of_lab.reservation, type_, of_lab.instance_type, zone)


def misfits(needed: WantedReservation, found: Reservation) -> Iterator[Said]:
    """Why launches of the pool into its reservation would fail, or not be its own; the first matters most."""
    for code, has, needs in (
        ("capacity.reservation-type", found.type.value, needed.type.value),
        ("capacity.reservation-instances", found.instance_type, needed.instance_type),
        ("capacity.reservation-zone", found.zone, needed.zone),
    ):
        if has != needs:
            yield reason(code, reservation=found.id, pool=needed.pool, has=has, needs=needs)
    if not found.targeted:
        yield reason("capacity.reservation-open", reservation=found.id)
