"""Which lease the running nodes belong to: the one rule for the meter, for missing nodes and for holds.

A lease does not name its nodes. The running nodes belong to the leases in force, in the order of their opening.
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
    """How many of the running nodes each lease has. The rest belongs to no lease."""
    left, nodes_of_lease = running, dict[str, int]()
    for claim in sorted(claims):
        nodes_of_lease[claim.lease] = min(left, claim.nodes)
        left -= nodes_of_lease[claim.lease]
    return nodes_of_lease
