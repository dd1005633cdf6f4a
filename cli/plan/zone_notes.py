"""Notes of `check` on time zones that never have summer time: people often mean a city."""

from collections.abc import Iterator

from lamplighter.lab.model import Lab
from lamplighter.values.zone_names import FixedZone, fixed


def notes(lab: Lab) -> Iterator[str]:
    """A note on each such zone of a lab."""
    for name in dict.fromkeys((lab.time_zone, *map(lab.zone_of, lab.windows))):
        zone = fixed(name)
        if zone is not None:
            yield _note(name, zone)


def _note(name: str, zone: FixedZone) -> str:
    sign = ": its sign is the reverse of UTC's" if zone.reversed else ""
    cities = " or ".join(
        city if hours is None else f"{city} ({_offset(hours)})" for city, hours in zone.cities.items()
    )
    advice = f"; the zone of a city is {cities}" if cities else ""
    return f"{name} is {_offset(zone.hours)} all year, without summer time{sign}{advice}"


def _offset(hours: int) -> str:
    return f"UTC{hours:+03d}:00"
