"""How a sentence counts things: `1 node`, `2 nodes`; and time: `8h`, `90m` as `1h30m`."""

from datetime import timedelta


def write_duration(length: timedelta) -> str:
    """The shortest of our words for a whole number of minutes."""
    hours, minutes = divmod(int(length.total_seconds()) // 60, 60)
    return f"{hours}h{minutes}m" if hours and minutes else f"{minutes}m" if minutes else f"{hours}h"


def counted(number: int, what: str) -> str:
    """The number with its word, which takes an s for all but one."""
    return f"{number} {what}{'' if number == 1 else 's'}"
