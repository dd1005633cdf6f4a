"""Durations as NodePools write them: whole numbers with h, m and s, or Never."""

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d+)([hms])")


def seconds_of(text: str | None, default: float) -> float:
    """The seconds; the default where nothing is written, and infinity for Never."""
    if text is None:
        return default
    if text == "Never":
        return float("inf")
    return sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text))
