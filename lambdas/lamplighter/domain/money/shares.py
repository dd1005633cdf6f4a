"""Which lease the running nodes belong to: the one rule for the meter, for missing nodes and for holds.

A lease does not name its nodes. The running nodes belong to the leases in force, in the order of their opening, the
oldest first. A node of a type that a lease was not granted for is none of its nodes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple


class Claim(NamedTuple):
    """A lease in force, when it opened, and how many nodes it wants, of which types; without types, of any."""

    opens: datetime
    lease: str
    nodes: int
    types: tuple[str, ...] = ()


def shares(claims: Iterable[Claim], running: Mapping[str, str]) -> dict[str, list[str]]:
    """The running nodes of each lease. The rest belongs to no lease.

    `running` has the type of each node, by its instance, in the order in which leases take them; "" is any type.
    """
    left, nodes_of_lease = dict(running), dict[str, list[str]]()
    for claim in sorted(claims):
        fitting = [node for node, kind in left.items() if is_of(claim.types, kind)]
        nodes_of_lease[claim.lease] = fitting[: claim.nodes]
        for node in nodes_of_lease[claim.lease]:
            del left[node]
    return nodes_of_lease


def is_of(types: tuple[str, ...], kind: str) -> bool:
    """Whether a node of this type may be a lease's. Where one of them is not known, it may."""
    return not types or not kind or kind in types
