"""What the guard sees in EC2 alone: a pool whose controller does not answer, and GPUs that belong to no pool.

A NodePool is in Kubernetes. Without its API server the guard still counts the instances with the pool's tags, and ends
what no lease justifies.
"""

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.application import environment
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.capacity.evidence import ANY_NUMBER, NOW, Instance, Part, Seen
from lamplighter.domain.capacity.kinds import KINDS, kind_of, known_tags
from lamplighter.errors import OutsideFailed

if TYPE_CHECKING:
    from lamplighter.adapters.aws.capacity.instances import Instances
    from lamplighter.lab.model import Lab

_logger = logging.getLogger(__name__)

JOINS = timedelta(minutes=2)
"""A new instance may have its tags a moment later."""


def seen_anyhow(
    capacity: CapacityServices, pool: str, unread: list[str], parts: Collection[Part] = NOW
) -> Seen:
    """These parts; where the controller does not answer, what EC2 shows, and a line in `unread`."""
    try:
        return capacity.see(pool, parts)
    except OutsideFailed as error:
        if not KINDS[kind_of(capacity.lab, pool)].shown_by_ec2:
            raise
        _logger.warning("the guard sees pool %s in EC2 alone: %s", pool, error)
        unread.append(str(error))
    known = environment.as_kept(capacity.lab, capacity.ledger).pools[pool]
    # Without a maximum, leases alone say how many nodes may run.
    return replace(capacity.see(pool, {Part.INSTANCES}), maximum=known.max_nodes or ANY_NUMBER)


def outside_pools(lab: "Lab", instances: "Instances") -> tuple[Instance, ...]:
    """GPU instances of the lab's cluster without the tags of any of its pools, such as those of another NodePool."""
    known = known_tags(lab)
    before = clock.now() - JOINS
    return tuple(
        instance
        for instance, tags in instances.of_cluster(lab.cluster_name)
        if instance.alive
        and instance.launched <= before
        and gpu_type(instance.type) is not None
        and not any(each.items() <= tags.items() for each in known)
    )
