"""The one maker of a lease, and the evening on which most tests take place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def usd(amount: int | str) -> Money:
    return Money.of(amount, "USD")


def lease(name: str = "evening-1", opens: int = 0, closes: int = 120, **more: Any) -> Lease:
    """A class's lease of two nodes on pool gpu for its window, minutes after eight."""
    made = Lease(
        id=name,
        pool="gpu",
        nodes=2,
        owner="class",
        source="window",
        state=LeaseState.OPEN,
        opens=EIGHT + opens * MINUTE,
        closes=EIGHT + closes * MINUTE,
        hold=usd(4),
        window=name.removesuffix("-1"),
        period="2026-11",
    )
    return replace(made, **more)


def persons(name: str = "cli-1", opens: int = 0, closes: int = 120, **more: Any) -> Lease:
    """alice's lease, which she asked for at the command line."""
    alices: dict[str, Any] = {"owner": "alice", "source": "cli", "window": None, "hold": usd(1)}
    return lease(name, opens, closes, **alices | more)
