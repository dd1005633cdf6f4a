"""What the guard sees of a pool in EC2 alone, where its controller does not answer.

A NodePool is in Kubernetes. Without its API server the guard still counts the instances with the pool's tags, and ends
what no lease justifies.
"""

import logging
from collections.abc import Collection
from dataclasses import replace

from lamplighter.application import environment
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.capacity.evidence import ANY_NUMBER, NOW, Part, Seen
from lamplighter.domain.capacity.kinds import KINDS, kind_of
from lamplighter.errors import OutsideFailed, TryLater

_logger = logging.getLogger(__name__)


def seen_anyhow(
    capacity: CapacityServices, pool: str, unread: list[str], parts: Collection[Part] = NOW
) -> Seen:
    """These parts; where the controller does not answer, what EC2 shows, and a line in `unread`."""
    try:
        return capacity.see(pool, parts)
    except (OutsideFailed, TryLater) as error:
        if not KINDS[kind_of(capacity.lab, pool)].shown_by_ec2:
            raise
        _logger.warning("the guard sees pool %s in EC2 alone: %s", pool, error)
        unread.append(f"pool {pool}: {error}")
    known = environment.as_kept(capacity.lab, capacity.ledger).pools[pool]
    # Without a maximum, leases alone say how many nodes may run.
    maximum = known.max_nodes or ANY_NUMBER
    return replace(capacity.see(pool, {Part.INSTANCES}), maximum=maximum, unread=True)
