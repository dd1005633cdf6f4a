"""What AWS sells as Capacity Blocks for ML: which block has its nodes for a window, and what one costs.

One asks for whole days up to 14 or whole weeks up to 26. Every block ends at 11:30 UTC, so one that begins at another
time is a little shorter or longer (EC2 user guide, capacity-blocks-purchase).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from lamplighter.domain.capacity.reservation import BLOCK_ENDS_EARLY, Reservation, ReservationType
from lamplighter.lab.types import write_amount
from lamplighter.values.instant import written

HOUR = timedelta(hours=1)
DAY, WEEK = 24, 7 * 24
HOURS = (*range(DAY, 14 * DAY + 1, DAY), *range(3 * WEEK, 26 * WEEK + 1, WEEK))
"""The lengths that one may ask for."""
ODD = timedelta(hours=12)
"""How much a block may differ from the length that was asked for [est]."""
MOST_NODES = 64
"""Of one block."""
EARLIEST, AHEAD = timedelta(minutes=30), timedelta(weeks=8)
"""From now to the begin of a block: the least and the most."""
CENT = Decimal("0.01")
OVER = frozenset({"cancelled", "expired", "failed", "payment-failed", "unsupported"})
"""The states of a reservation that has no nodes any more; a state that nobody knows may have them."""


@dataclass(frozen=True, slots=True)
class BlockOffering:
    """A block that can be bought now."""

    id: str
    instance_type: str
    zone: str
    nodes: int
    begins: datetime
    ends: datetime
    price: Decimal
    """Of the whole block, paid when it is bought."""
    currency: str

    @property
    def node_hour(self) -> Decimal:
        """The price of a node for an hour, used or not."""
        return (self.price / self.nodes / Decimal((self.ends - self.begins) / HOUR)).quantize(CENT)

    def has_nodes(self, opens: datetime, closes: datetime) -> bool:
        """Whether a lease of [opens, closes) lies within it."""
        return self.begins <= opens and closes <= self.ends - BLOCK_ENDS_EARLY

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.id,
            "instance_type": self.instance_type,
            "zone": self.zone,
            "nodes": self.nodes,
            "from": written(self.begins),
            "until": written(self.ends),
            "price": write_amount(self.price),
            "price_per_node_hour": write_amount(self.node_hour),
            "currency": self.currency,
        }


def lengths(opens: datetime, closes: datetime) -> Iterator[int]:
    """The two shortest lengths that can hold [opens, closes), in hours: a block of the shortest may end within it."""
    long_enough = (hours for hours in HOURS if hours * HOUR >= closes + BLOCK_ENDS_EARLY - opens)
    for _, hours in zip(range(2), long_enough, strict=False):
        yield hours


def in_the_way(owned: Iterable[Reservation], offering: BlockOffering) -> Reservation | None:
    """A block of the pool that has, or will have, its nodes within the hours of an offering: a pool uses one."""
    for one in owned:
        ends = one.ends or offering.ends
        meets = one.begins < offering.ends and offering.begins < ends
        if one.type is ReservationType.BLOCK and one.state not in OVER and meets:
            return one
    return None
