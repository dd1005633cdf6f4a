"""The port to a pool's nodes: seven operations, the same for every kind of capacity.

An implementation decides nothing about leases or money. The application decides, under the pool's lock, and orders
whole sizes here. tests/unit/capacity/conformance.py states what every implementation has to do.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from lamplighter.domain.capacity.evidence import NOW, Part, Seen

if TYPE_CHECKING:
    from lamplighter.domain.capacity.calls import TimedCall
    from lamplighter.domain.capacity.shortage import Shortage
    from lamplighter.domain.capacity.zero import ZeroProof


class Removal(Enum):
    """Why chosen instances go, and so what becomes of the size."""

    FEWER = "fewer"
    """The pool shrinks and keeps others: the size goes down with each of them."""
    REPLACED = "replaced"
    """Fresh ones come in their place: the size stays."""
    STRAY = "stray"
    """The controller does not list them, or keeps them although its size is zero: EC2 ends them."""
    DRAINED = "drained"
    """They are leaving already, and are empty or had their time: nobody waits for them any longer."""


@dataclass(frozen=True)
class Awaited:
    """An order that is waited for, and what came of it by now."""

    wanted: int
    have: int
    since: datetime
    """When it was ordered: what failed before is history."""
    now: datetime
    order: str | None
    """What the order returned."""


class Capacity(Protocol):
    """The capacity of the pools of one kind in a lab."""

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        """What is there now of these parts; `known` is completed by them, and nothing else is read again.

        A pool whose capacity does not exist is a value like any other.
        """

    def bar(self, pool: str, until: datetime) -> None:
        """Allow new nodes to start until an instant, and none from then on. Nothing to do where AWS has no such bar.

        Comes before an order that adds nodes. The same instant twice is one bar.
        """

    def order(
        self, pool: str, size: int, seen: Seen, *, maximum: int | None = None, insist: bool = False
    ) -> str | None:
        """Order exactly this size, with a minimum of 0, and with `maximum` a new maximum as well.

        `seen` has SIZES, read under the pool's lock. Without a maximum, where all of it is so already, nothing is
        called. Returns what `troubles` may ask for, None where nothing was begun. TryLater while the capacity is busy
        with another change; with `insist` a smaller size is written past that.
        """

    def remove(self, pool: str, instances: Sequence[str], why: Removal, seen: Seen) -> None:
        """Remove these very instances. It never adds a node of its own; an instance that is gone is fine.

        `seen` has SIZES, read under the pool's lock. FEWER and REPLACED pass over what it does not list as staying, so
        that a second try takes none twice.
        """

    def troubles(self, pool: str, awaited: Awaited, seen: Seen) -> "Shortage | None":
        """Why fewer nodes came of an order than it wanted; None while it is too early to say."""

    def off_switch(self, pool: str, first: datetime, seen: Seen) -> "tuple[TimedCall, ...]":
        """The four calls, from `first` on, that bring the pool to zero with none of our code. Pure.

        `seen` has SIZES of a pool that exists. TryLater where what the calls must name does not exist yet.
        """

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> "ZeroProof":
        """Law 7: what this, with the pool's nodes in Kubernetes, proves about the pool being at zero. Pure.

        `kubernetes_nodes` is None where they were not read; `justified` nodes may stay.
        """
