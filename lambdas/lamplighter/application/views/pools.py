"""Pool views with the sizes that AWS has now. A caller without rights to read them shows the ledger alone."""

from collections.abc import Iterable
from dataclasses import replace

from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.adapters.capacity import kinds
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.capacity.kinds import kind_of
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.lab.model import Lab


def with_sizes(lab: Lab, reading: ViewReading, pools: Iterable[str]) -> list[PoolView]:
    """The named pools; a pool whose capacity does not exist has size 0."""
    capacities = kinds.of_lab(lab)
    views = []
    for name in pools:
        seen = capacities[kind_of(lab, name)].see(name, {Part.SIZE})
        views.append(replace(reading.pool(name), desired=seen.ordered))
    return views
