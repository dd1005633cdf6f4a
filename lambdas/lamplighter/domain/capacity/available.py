"""What AWS names as available where it refuses a launch: zones and instance types, as values.

shortage.py reads them from AWS's words. Findings, the trail and events carry them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

ZONES, TYPES = "zones", "instance_types"


@dataclass(frozen=True, slots=True)
class Available:
    """Zones and types by AWS's words at that moment; AWS promises none of them."""

    zones: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        return {ZONES: list(self.zones), TYPES: list(self.instance_types)}

    def details(self) -> dict[str, str]:
        """As an entry of the trail keeps them; what AWS does not name is left out."""
        kept = {ZONES: ",".join(self.zones), TYPES: ",".join(self.instance_types)}
        return {name: value for name, value in kept.items() if value}

    @classmethod
    def from_details(cls, details: Mapping[str, str]) -> Self:
        """Reads what `details` wrote."""
        zones, types = (tuple(filter(None, details.get(name, "").split(","))) for name in (ZONES, TYPES))
        return cls(zones, types)


NOTHING = Available()
"""AWS names nothing."""
