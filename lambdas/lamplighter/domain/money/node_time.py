"""Node time and its cost: of a lease, of an overrun or of nodes without a lease."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Self

from lamplighter.domain.money.money import Money, cost_of

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class NodeTime:
    """Node time and its cost: two nodes for an hour are two hours."""

    time: timedelta
    cost: Money

    @classmethod
    def at(cls, time: timedelta, price_per_hour: Decimal, currency: str) -> Self:
        """Node time at a price."""
        return cls(time, cost_of(time, price_per_hour, currency))

    @classmethod
    def nothing(cls, currency: str) -> Self:
        """No node time and no cost."""
        return cls(timedelta(), Money.zero(currency))

    @property
    def seconds(self) -> int:
        """Whole seconds, to be shown."""
        return round(self.time.total_seconds())

    def __add__(self, other: Self) -> Self:
        return type(self)(self.time + other.time, self.cost + other.cost)

    def to_json(self) -> dict[str, object]:
        """Exact, in whole microseconds and with the exact amount."""
        return {"node_microseconds": self.time // _MICROSECOND, **self.cost.to_json()}

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> Self:
        """Reads what to_json wrote."""
        return cls(int(str(found["node_microseconds"])) * _MICROSECOND, Money.from_json(found))
