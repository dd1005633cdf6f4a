"""Money, exactly: what nodes cost, and to which budget period an instant belongs.

Amounts are fractions, so that a hold is exact to the second. Only shown amounts are rounded. granting/admission.py
decides what may be spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Self
from zoneinfo import ZoneInfo

SHOWN_PLACES = 4
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in one currency."""

    amount: Fraction
    currency: str

    @classmethod
    def of(cls, amount: Decimal | Fraction | int | str, currency: str) -> Self:
        """An amount from a decimal as written, never from a binary float."""
        return cls(Fraction(amount), currency)

    @classmethod
    def zero(cls, currency: str) -> Self:
        """Zero in a currency."""
        return cls(Fraction(0), currency)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.amount + self._in_my_currency(other), self.currency)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.amount - self._in_my_currency(other), self.currency)

    def __lt__(self, other: Self) -> bool:
        return self.amount < self._in_my_currency(other)

    def __le__(self, other: Self) -> bool:
        return self.amount <= self._in_my_currency(other)

    def __gt__(self, other: Self) -> bool:
        return self.amount > self._in_my_currency(other)

    def __ge__(self, other: Self) -> bool:
        return self.amount >= self._in_my_currency(other)

    def __str__(self) -> str:
        return f"{self.shown()} {self.currency}"

    def shown(self) -> Decimal:
        """The amount for people: with two places, and four of what would else be nothing."""
        return self.rounded(2 if not self.amount or self.rounded(2) else SHOWN_PLACES)

    def rounded(self, places: int = SHOWN_PLACES) -> Decimal:
        """The amount to show: rounded once, half up."""
        unit = Decimal(1).scaleb(-places)
        scaled = self.amount * 10**places
        # Rounding the fraction itself: a quotient of Decimals would be rounded twice.
        doubled = 2 * abs(scaled.numerator) + scaled.denominator
        whole = doubled // (2 * scaled.denominator)
        return (Decimal(whole if scaled >= 0 else -whole) * unit).quantize(unit, ROUND_HALF_UP)

    def to_json(self) -> dict[str, str]:
        """The amount as a decimal string; where that is not exact, the exact fraction is in `exact`."""
        document = {"amount": format(self.rounded(), "f"), "currency": self.currency}
        if Fraction(document["amount"]) != self.amount:
            document["exact"] = str(self.amount)
        return document

    @classmethod
    def from_json(cls, found: Mapping[str, object]) -> Self:
        """Reads what to_json wrote, exactly."""
        return cls(Fraction(str(found.get("exact") or found["amount"])), str(found["currency"]))

    def _in_my_currency(self, other: Self) -> Fraction:
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} and {other.currency} cannot be added or compared")
        return other.amount


def cost(nodes: int, length: timedelta, price_per_hour: Decimal, currency: str) -> Money:
    """The cost of a number of nodes for a length of time."""
    return cost_of(nodes * length, price_per_hour, currency)


def cost_of(node_time: timedelta, price_per_hour: Decimal, currency: str) -> Money:
    """The cost of node time: seconds x price."""
    seconds = Fraction(node_time // timedelta(microseconds=1), 1_000_000)
    return Money(seconds * Fraction(price_per_hour) / _SECONDS_AN_HOUR, currency)


@dataclass(frozen=True, slots=True)
class Period:
    """A budget period [begins, ends), by the calendar of the lab's zone."""

    key: str
    """`2026-11` for a month, `2026-W47` for a week, `2026-11-20` for a day."""
    begins: datetime
    ends: datetime


def period_of(at: datetime, period: str, zone: ZoneInfo) -> Period:
    """The day, week or month of the lab's calendar in which an instant lies."""
    day = at.astimezone(zone).date()
    match period:
        case "day":
            return Period(day.isoformat(), _midnight(day, zone), _midnight(day + timedelta(days=1), zone))
        case "week":
            monday = day - timedelta(days=day.weekday())
            year, week, _ = day.isocalendar()
            return Period(
                f"{year}-W{week:02}", _midnight(monday, zone), _midnight(monday + timedelta(days=7), zone)
            )
        case "month":
            first = day.replace(day=1)
            following = (first + timedelta(days=31)).replace(day=1)
            return Period(f"{day:%Y-%m}", _midnight(first, zone), _midnight(following, zone))
        case _:
            raise ValueError(f"a budget is for a day, a week or a month, not for a {period}")


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a local day, in UTC; where midnight falls in a gap, the end of the gap."""
    # fold=0 reads a time inside a gap with the offset before it, which lands right after the gap.
    return datetime.combine(day, time(), zone).astimezone(UTC)
