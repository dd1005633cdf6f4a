"""What AWS sells as Capacity Blocks for ML: which block has its nodes for a window, and what one costs.

AWS sells whole days up to 14 and whole weeks up to 26; a block begins at a time of AWS's choice (EC2 API reference,
DescribeCapacityBlockOfferings).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from lamplighter.domain.capacity.reservation import BLOCK_ENDS_EARLY, COMING, Reservation, ReservationType
from lamplighter.lab.types import write_amount
from lamplighter.values.instant import written

HOUR = timedelta(hours=1)
DAY, WEEK = 24, 7 * 24
HOURS = (*range(DAY, 14 * DAY + 1, DAY), *range(3 * WEEK, 26 * WEEK + 1, WEEK))
"""The lengths that are sold, in hours."""
MOST_NODES = 64
"""Of one block."""
EARLIEST, AHEAD = timedelta(minutes=30), timedelta(weeks=8)
"""From the purchase to the begin of a block: the least and the most."""
CENT = Decimal("0.01")


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
    """The two shortest lengths that can hold [opens, closes), in hours.

    The shortest may not: no block of it may begin early enough and end late enough.
    """
    long_enough = (hours for hours in HOURS if hours * HOUR >= closes + BLOCK_ENDS_EARLY - opens)
    for _, hours in zip(range(2), long_enough, strict=False):
        yield hours


def in_the_way(owned: Iterable[Reservation], offering: BlockOffering) -> Reservation | None:
    """A block of the pool that has, or will have, its nodes within the hours of an offering: a pool uses one."""
    for one in owned:
        ends = one.ends or offering.ends
        meets = one.begins < offering.ends and offering.begins < ends
        if one.type is ReservationType.BLOCK and one.state in COMING and meets:
            return one
    return None
