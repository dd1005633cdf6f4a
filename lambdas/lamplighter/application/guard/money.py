"""What a sweep does about money: counts what runs past or without a lease where no close counts it."""

import logging
from collections.abc import Sequence
from datetime import datetime

from lamplighter.application.capacity.metering import count_beyond
from lamplighter.application.capacity.services import PoolReading
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.charge import LEFT_TO_THE_CLOSE, counted_from, grants
from lamplighter.domain.money.metering import EC2_REMEMBERS, meter, runs
from lamplighter.errors import BadInput, TryLater

_logger = logging.getLogger(__name__)


def count(
    lease_services: LeaseServices, pool: str, leases: Sequence[Lease], seen: PoolReading, now: datetime
) -> None:
    """Count as spent what has run past or without a lease for a while, where nothing else counted it.

    The first look at a pool only notes the instant: what ran before it was guarded is not its money.
    """
    state = lease_services.ledger.pool(pool)
    if state.metered_until is None and not grants(leases):
        lease_services.ledger.begin_counting(pool, now.replace(microsecond=0))
        return
    since = max(counted_from(leases, state.metered_until, now), now - EC2_REMEMBERS)
    # What EC2 alone shows is enough to tell that there is something; the count asks Auto Scaling too.
    ran = meter(runs((), seen.instances, now), grants(leases), since, now - LEFT_TO_THE_CLOSE)
    if not ran.overrun and not ran.unleased:
        return
    try:
        count_beyond(pool, now, lease_services, "guard", seen)
    except TryLater as later:
        _logger.info("pool %s is counted later: %s", pool, later)
    except BadInput as unknown:
        _logger.warning("what runs in pool %s cannot be counted: %s", pool, unknown)
