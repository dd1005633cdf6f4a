"""A sweep's part in money: it counts what runs past or without a lease, where no close counts it."""

import logging
from collections.abc import Sequence
from datetime import datetime

from lamplighter.application.leases.metering import count_beyond
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.billing.charge import LEFT_TO_THE_CLOSE, counted_from, grants
from lamplighter.domain.billing.metering import EC2_REMEMBERS, meter, runs
from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput, TryLater

_logger = logging.getLogger(__name__)


def count(
    lease_services: LeaseServices, pool: str, leases: Sequence[Lease], seen: Seen, now: datetime
) -> None:
    """Count as spent what has run past or without a lease for a while, where nothing else counted it.

    The first sweep of a pool only notes the instant: nodes that ran before the guard are not the lab's cost.
    """
    state = lease_services.ledger.pool(pool)
    if state.metered_until is None and not grants(leases):
        lease_services.ledger.begin_counting(pool, now.replace(microsecond=0))
        return
    since = max(counted_from(leases, state.metered_until, now), now - EC2_REMEMBERS)
    # EC2 alone tells whether there is anything to count; the count itself reads the history too.
    ran = meter(runs((), seen.instances, now), grants(leases), since, now - LEFT_TO_THE_CLOSE)
    if not ran.overrun and not ran.unleased:
        return
    try:
        count_beyond(pool, now, lease_services, "guard", seen)
    except TryLater as later:
        _logger.info("a later sweep counts pool %s: %s", pool, later)
    except BadInput as unknown:
        _logger.warning("the cost of pool %s cannot be counted: %s", pool, unknown)
