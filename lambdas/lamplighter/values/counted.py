"""How a sentence counts things: `1 node`, `2 nodes`; and time: `8h`, `90m` as `1h30m`."""

from collections.abc import Sequence
from datetime import timedelta

NAMED = 5
"""So many names a sentence has; a pool may have hundreds of nodes."""


def write_duration(length: timedelta) -> str:
    """The shortest of our words for a whole number of minutes."""
    hours, minutes = divmod(int(length.total_seconds()) // 60, 60)
    return f"{hours}h{minutes}m" if hours and minutes else f"{minutes}m" if minutes else f"{hours}h"


def write_seconds(length: timedelta) -> str:
    """`45s`, `2m`, `2m5s`: how long a stage of a warm-up takes."""
    minutes, seconds = divmod(round(length.total_seconds()), 60)
    return f"{minutes}m{seconds}s" if minutes and seconds else f"{minutes}m" if minutes else f"{seconds}s"


def counted(number: int, what: str) -> str:
    """The number with its word, which takes an s for all but one."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def named(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; of many the first, and how many more."""
    told = [*names[:NAMED], *([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])]
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


def first(sentences: Sequence[str]) -> str:
    """Sentences one after the other; of many the first, and how many more."""
    more = len(sentences) - NAMED
    return "; ".join([*sentences[:NAMED], *([f"and {more} more like these"] if more > 0 else [])])
