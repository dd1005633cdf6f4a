"""A lease: the grant of nodes on a pool until an instant, the only thing that justifies a node.

Owns its states and when it is in force; who gets one is decided in grant.py, what follows from
several at once in target.py, and keeping them is the ledger's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Self

from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import Reason, Said, reason
from lamplighter.values import instant


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
"""A lease that is granted within this of its opening takes over what runs as if it had been there in time."""


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
    """Words of whoever asked for it; of a refused one the reason."""
    generation: int = 0
    period: str = ""
    """The budget period that pays for it."""
    order: int = 0
    """Its window's place in the lab file: the earlier one goes first where two open together."""
    refusal: Said | None = None
    """Of a planned one: why it will not get its nodes or money, as things stand."""
    asked_until: datetime | None = None
    """Of a window's: the end that its window named when the lease last followed it; None once a person moved it."""
    ready_by: datetime | None = None
    """When its GPUs are to be ready, where it opens early for that."""
    missing: int = 0
    """Nodes that a shortage keeps away: nothing is held for them, and they are not ordered until it is again."""
    wanted_before: tuple[tuple[datetime, int], ...] = ()
    """Up to when it wanted how many nodes, where that has changed since, oldest first."""
    ordered: datetime | None = None
    ready: datetime | None = None
    closed: datetime | None = None
    """When zero was proven after it, or no more than others justify."""
    node_seconds: int | None = None
    cost: Money | None = None
    """What it came to, once it is closed; its overrun is in it."""
    overrun: NodeTime | None = None
    """What ran past its end, as far as it is counted; that is spent already."""
    price_per_hour: Decimal | None = None
    """What a node cost when it was granted: it is held and paid for at that price."""
    run: str | None = None
    """The run of OpenLab that opens it, by name."""
    kept: str | None = None
    """Who wants it kept though it is idle."""
    replaced: tuple[str, ...] = ()
    """Instances that were changed for fresh ones, since their GPUs failed; once for a lease."""

    @property
    def wanted(self) -> int:
        """The nodes that it justifies and that are held for."""
        return self.nodes - self.missing

    def wanting(self, nodes: int, missing: int, at: datetime) -> Self:
        """The same lease with other nodes from an instant on: what was before stays as it was."""
        before = self.wanted_before
        if nodes - missing != self.wanted:
            before = (*before, (at, self.wanted))
        return replace(self, nodes=nodes, missing=missing, wanted_before=before)

    def granted_at(self, at: datetime) -> Self:
        """The same lease, granted at an instant: one that is late for its opening had no nodes before that."""
        return replace(self, wanted_before=((at, 0),)) if at - self.opens > AT_ONCE else self

    @property
    def granted(self) -> bool:
        """Whether it may have nodes, now or later."""
        return self.state in GRANTED

    @property
    def begins(self) -> datetime:
        """When it begins by the lab, an early opening left aside: its place in the queue."""
        return self.opens if self.ready_by is None else self.ready_by

    def in_force(self, at: datetime) -> bool:
        """Whether it justifies nodes at this instant."""
        return self.granted and self.opens <= at < self.closes

    def unfinished(self, at: datetime) -> bool:
        """Whether it has begun by this instant and is not closed yet."""
        return self.opens <= at and (self.granted or self.state is LeaseState.CLOSING)

    def is_of(self, name: str) -> bool:
        """Whether it is this person's: they answer for it, or asked for it."""
        return name in {self.owner, self.by}

    def overlaps(self, opens: datetime, closes: datetime) -> bool:
        """Whether it shares an instant with [opens, closes)."""
        return self.opens < closes and opens < self.closes

    def moved_to(self, state: LeaseState) -> Self:
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
        return {
            "id": self.id,
            "pool": self.pool,
            "nodes": self.nodes,
            "owner": self.owner,
            "source": self.source,
            "window": self.window,
            "date": self.date,
            "state": self.state.value,
            "opens": instant.written(self.opens),
            "closes": instant.written(self.closes),
            "by": self.by,
            "because": None if self.because is None else document(self.because),
            "hold": self.hold.to_json(),
            "generation": self.generation,
            "period": self.period,
            "order": self.order,
            "refusal": None if self.refusal is None else document(self.refusal),
            "asked_until": _written(self.asked_until),
            "ready_by": _written(self.ready_by),
            "missing": self.missing,
            "wanted_before": [[instant.written(at), nodes] for at, nodes in self.wanted_before] or None,
            "ordered": _written(self.ordered),
            "ready": _written(self.ready),
            "closed": _written(self.closed),
            "node_seconds": self.node_seconds,
            "cost": self.cost.to_json() if self.cost else None,
            "overrun": self.overrun.to_json() if self.overrun else None,
            "price_per_hour": None if self.price_per_hour is None else str(self.price_per_hour),
            "run": self.run,
            "kept": self.kept,
            "replaced": list(self.replaced) or None,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> Self:
        """Reads what to_json wrote; keys that later versions add are left alone."""
        hold, cost, overrun = found["hold"], found.get("cost"), found.get("overrun")
        price, replaced = found.get("price_per_hour"), found.get("replaced")
        wanted = found.get("wanted_before")
        if not isinstance(hold, Mapping):
            raise TypeError(f"the hold of lease {found.get('id')} is {hold!r}, not an amount and a currency")
        return cls(
            id=str(found["id"]),
            pool=str(found["pool"]),
            nodes=int(str(found["nodes"])),
            owner=str(found["owner"]),
            source=str(found["source"]),
            state=LeaseState(str(found["state"])),
            opens=instant.read(str(found["opens"])),
            closes=instant.read(str(found["closes"])),
            hold=Money.from_json(hold),
            window=_text(found.get("window")),
            date=_text(found.get("date")),
            by=_text(found.get("by")),
            because=_said(found.get("because")),
            generation=int(str(found.get("generation") or 0)),
            period=str(found.get("period") or ""),
            order=int(str(found.get("order") or 0)),
            refusal=_said(found.get("refusal")),
            asked_until=_read(found.get("asked_until")),
            ready_by=_read(found.get("ready_by")),
            missing=int(str(found.get("missing") or 0)),
            wanted_before=tuple((instant.read(str(at)), int(str(nodes))) for at, nodes in wanted)
            if isinstance(wanted, list)
            else (),
            ordered=_read(found.get("ordered")),
            ready=_read(found.get("ready")),
            closed=_read(found.get("closed")),
            node_seconds=int(str(found["node_seconds"])) if found.get("node_seconds") is not None else None,
            cost=Money.from_json(cost) if isinstance(cost, Mapping) else None,
            run=_text(found.get("run")),
            kept=_text(found.get("kept")),
            replaced=tuple(map(str, replaced)) if isinstance(replaced, list) else (),
            overrun=NodeTime.from_json(overrun) if isinstance(overrun, Mapping) else None,
            price_per_hour=None if price is None else Decimal(str(price)),
        )


def _written(at: datetime | None) -> str | None:
    return None if at is None else instant.written(at)


def _read(found: object) -> datetime | None:
    return None if found is None else instant.read(str(found))


def _said(found: object) -> Said | None:
    return None if found is None else read(found)


def _text(found: object) -> str | None:
    return None if found is None else str(found)
