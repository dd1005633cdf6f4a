"""A lease: the grant of nodes on a pool until an instant. Only a lease justifies a node.

Owns its states and when it is in force. grant.py decides who gets one, target.py sums several leases, and the ledger
keeps them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Self

from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.people.person import who
from lamplighter.reasons.fields import from_document, to_document
from lamplighter.reasons.reason import Reason, Said, reason


class LeaseState(StrEnum):
    """Planned by a window, then admitted, opening, open, closing, closed; or refused."""

    PLANNED = "planned"
    ADMITTED = "admitted"
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"
    REFUSED = "refused"


_STATES = {
    LeaseState.PLANNED: reason("lease.state.planned"),
    LeaseState.ADMITTED: reason("lease.state.admitted"),
    LeaseState.OPENING: reason("lease.state.opening"),
    LeaseState.OPEN: reason("lease.state.open"),
    LeaseState.CLOSING: reason("lease.state.closing"),
    LeaseState.CLOSED: reason("lease.state.closed"),
    LeaseState.REFUSED: reason("lease.state.refused"),
}
GRANTED = frozenset({LeaseState.ADMITTED, LeaseState.OPENING, LeaseState.OPEN})
OVER = frozenset({LeaseState.CLOSED, LeaseState.REFUSED})
AT_ONCE = timedelta(minutes=1)
"""A lease that is granted within this time after its opening counts as granted in time."""


@dataclass(frozen=True, slots=True)
class MovedLease:
    """A lease on another pool: what a lease became there, or was there before."""

    pool: str
    lease: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Nodes of one pool over [opens, closes), for an owner, with the money held for them."""

    id: str
    pool: str
    nodes: int
    owner: str
    source: str
    state: LeaseState
    opens: datetime
    closes: datetime
    hold: Money
    window: str | None = None
    date: str | None = None
    by: str | None = None
    because: Said | None = None
    """The words of the person who asked for it; of a refused lease the reason of the refusal."""
    generation: int = 0
    period: str = ""
    """The budget period that pays for it."""
    order: int = 0
    """Its window's place in the lab file: of two windows that open together the earlier one comes first."""
    refusal: Said | None = None
    """Of a planned lease: why it will probably not get its nodes or money."""
    asked_until: datetime | None = None
    """Of a window's lease: the window's end when the lease last followed it; None after a person moved the end."""
    ready_by: datetime | None = None
    """When its GPUs must be ready, if it opens early for that."""
    missing: int = 0
    """Nodes that a shortage keeps away. They have no hold, and are not ordered until money is held for them again."""
    wanted_before: tuple[tuple[datetime, int], ...] = ()
    """Earlier numbers of wanted nodes, each with the instant of its end, oldest first."""
    ordered: datetime | None = None
    ready: datetime | None = None
    closed: datetime | None = None
    """When zero was proven after it, or a number of nodes that other leases justify."""
    node_seconds: int | None = None
    cost: Money | None = None
    """Its cost with its overrun, once it is closed."""
    overrun: NodeTime | None = None
    """Node time past its end that is counted so far, and is already spent."""
    price_per_hour: Decimal | None = None
    """The hourly price of a node when it was granted; the lease is held and paid for at that price."""
    instance_types: tuple[str, ...] = ()
    """The types of nodes that it was granted for. A lease of an older release has none."""
    run: str | None = None
    """The run of OpenLab that opens it, by name."""
    kept: str | None = None
    """The person who keeps it although it is idle."""
    replaced: tuple[str, ...] = ()
    """Instances that were replaced because their GPUs failed; this happens once for a lease."""
    moved_to: MovedLease | None = None
    """The lease on a fallback pool that takes its place."""
    moved_from: MovedLease | None = None
    """The lease of a pool without capacity whose place it takes."""
    taken: tuple[str, ...] = ()
    """Spot Instances that AWS took. While they still run, the lease pays for them."""

    @property
    def wanted(self) -> int:
        """The nodes that it justifies and that have a hold."""
        return self.nodes - self.missing

    def wanting(self, nodes: int, missing: int, at: datetime) -> Self:
        """The same lease with another number of nodes from an instant on; earlier numbers are kept."""
        before = self.wanted_before
        if nodes - missing != self.wanted:
            before = (*before, (at, self.wanted))
        return replace(self, nodes=nodes, missing=missing, wanted_before=before)

    def granted_at(self, at: datetime) -> Self:
        """The same lease, granted at an instant; a lease that is granted late had no nodes before."""
        return replace(self, wanted_before=((at, 0),)) if at - self.opens > AT_ONCE else self

    @property
    def granted(self) -> bool:
        """Whether it may have nodes, now or later."""
        return self.state in GRANTED

    @property
    def begins(self) -> datetime:
        """When it begins without its early opening, which decides its place in the queue."""
        return self.opens if self.ready_by is None else self.ready_by

    def in_force(self, at: datetime) -> bool:
        """Whether it justifies nodes at this instant."""
        return self.granted and self.opens <= at < self.closes

    def unfinished(self, at: datetime) -> bool:
        """Whether it has begun by this instant and is not closed yet."""
        return self.opens <= at and (self.granted or self.state is LeaseState.CLOSING)

    def is_of(self, name: str) -> bool:
        """Whether this person owns it or asked for it."""
        return who(name) in {who(self.owner), who(self.by or self.owner)}

    def overlaps(self, opens: datetime, closes: datetime) -> bool:
        """Whether it shares an instant with [opens, closes)."""
        return self.opens < closes and opens < self.closes

    def in_state(self, state: LeaseState) -> Self:
        """The same lease in another state."""
        return replace(self, state=state)

    def called(self) -> Reason:
        """How a sentence names it: `the evening lease` or `alice's lease`."""
        if self.window:
            return reason("lease.of-window", window=self.window)
        return reason("lease.of-owner", owner=self.owner)

    def stands(self) -> Reason:
        """How a sentence names its state."""
        return _STATES[self.state]

    def to_json(self) -> dict[str, object]:
        """The document that workflows, `leases` and Slack read."""
        return to_document(self)

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> Self:
        """Reads what to_json wrote; keys that later versions add are left alone."""
        return from_document(cls, found)
