"""Whose the nodes are that run: the one rule, for the meter, for what a lease misses, and for what is held.

Nodes have no names in a lease. Those that run belong to the leases in force in the order in which they opened.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple


class Claim(NamedTuple):
    """A lease in force, when it opened, and how many nodes it wants."""

    opens: datetime
    lease: str
    nodes: int


def shares(claims: Iterable[Claim], running: int) -> dict[str, int]:
    """How many of so many nodes each lease has; what is left over is nobody's."""
    left, found = running, dict[str, int]()
    for claim in sorted(claims):
        found[claim.lease] = min(left, claim.nodes)
        left -= found[claim.lease]
    return found
