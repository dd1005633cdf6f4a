"""Refuses zones into which EKS puts no cluster, before the VPC exists."""

import logging
from collections.abc import Callable
from typing import TypeVar

from lamplighter import clock
from lamplighter.adapters.doctor.quotas import Zones
from lamplighter.domain.doctor.zones import misfits, other_zones
from lamplighter.errors import LamplighterError, Refused
from lamplighter.reasons.reason import reason

Read = TypeVar("Read")
_logger = logging.getLogger(__name__)
TRIES, WAIT_SECONDS = 6, 5.0
"""At a first deploy the function's role is new, and IAM takes some seconds until it may act."""


def refuse_zones(zones: str, before: str | None) -> None:
    """Raises Refused for zones that the account lacks or EKS refuses. `before` are the deployed zones.

    Both are names with commas between them. Deployed zones are not checked, so no rollback is refused.
    """
    wanted = [zone for zone in zones.split(",") if zone]
    if set(wanted) <= set((before or "").split(",")):
        return
    ids = tried(Zones().ids) or {}
    wrong = tuple(misfits(wanted, ids)) if ids else ()
    if wrong:
        raise Refused(reason("deploy.zones", why=wrong, advice=other_zones(wanted, ids)))


def tried(read: Callable[[], Read]) -> Read | None:
    """What is read; None if it cannot be read, because AWS refuses later by itself."""
    for attempt in range(TRIES):
        if attempt:
            clock.sleep(WAIT_SECONDS)
        try:
            return read()
        except LamplighterError as error:
            _logger.warning("not read, try %d: %s", attempt + 1, error)
    return None
