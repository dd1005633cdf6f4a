"""Instances that a pool's controller started and does not list: a list may be half of itself.

The controller is asked for each of them. One that it does not know is a stray.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from lamplighter.domain.capacity.evidence import Instance

LISTED_WITHIN = timedelta(minutes=2)
"""A new instance may be in EC2 before its controller lists it."""
SURE_WITHIN = timedelta(hours=1)
"""An older one of which nobody says anything is a stray: it is not kept for ever."""


def unlisted(instances: Iterable[Instance], listed: Collection[str], now: datetime) -> tuple[Instance, ...]:
    """Those that live and are not new. `listed` are the ids of the others."""
    return tuple(
        one
        for one in instances
        if one.alive and one.controller and one.id not in listed and now - one.launched >= LISTED_WITHIN
    )


def unsure(instances: Iterable[Instance], now: datetime) -> frozenset[str]:
    """Those of which the controller did not say whether they are its own."""
    return frozenset(one.id for one in instances if now - one.launched < SURE_WITHIN)
