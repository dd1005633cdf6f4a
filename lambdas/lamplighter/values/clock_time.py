"""How logs and plain English write an instant inside a sentence: `20:00 UTC on 2026-11-20`."""

from datetime import UTC, datetime


def clock_time(instant: datetime) -> str:
    """`20:00 UTC on 2026-11-20`."""
    utc = instant.astimezone(UTC)
    return f"{utc:%H:%M} UTC on {utc:%Y-%m-%d}"
