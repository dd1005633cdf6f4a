"""Subnets in which nothing more can start, because no address is free."""

from collections.abc import Iterator

from lamplighter.domain.diagnosis.document import at, number, text
from lamplighter.domain.diagnosis.snapshot import Snapshot


def full_subnets(snapshot: Snapshot) -> Iterator[str]:
    """The pool's subnets without a free address; the pool's name for one without a name."""
    mine = at(snapshot.nodegroup, "subnets")
    for subnet in snapshot.listed("aws", "subnets"):
        name = text(subnet, "SubnetId")
        if number(subnet, "AvailableIpAddressCount") == 0 and (not isinstance(mine, list) or name in mine):
            yield name or snapshot.name
