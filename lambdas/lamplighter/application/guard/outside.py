"""GPU instances of the cluster outside the lab's pools: reads them, and ends those that the domain chose.

Which of them the guard ends is decided in domain/guard/node_pools/outside.py.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.data.instance_types import gpu_type
from lamplighter.domain.capacity.evidence import Claim
from lamplighter.domain.capacity.kinds import identity, known_tags, named_in
from lamplighter.domain.guard.breach import Breach
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.node_pools.outside import GRACE
from lamplighter.domain.guard.node_pools.outside_instance import (
    OutsideInstance,
    outside_instance,
    owns_the_cluster,
)
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import Said, several

if TYPE_CHECKING:
    from lamplighter.adapters.aws.capacity.claims import Claims
    from lamplighter.adapters.aws.capacity.instances import Instances
    from lamplighter.adapters.kubernetes.connection import Connection
    from lamplighter.lab.model import Lab

_logger = logging.getLogger(__name__)

JOINS = timedelta(minutes=2)
"""A new instance may have its tags and its NodeClaim a moment later."""
NodeClaims = Mapping[str, Claim]
"""NodeClaims by their instance."""


def outside_pools(
    lab: "Lab", instances: "Instances", claims: "Claims", node_claims: Callable[[], NodeClaims | None]
) -> tuple[OutsideInstance, ...]:
    """GPU instances of the lab's cluster without the tags of any of its pools, and of no other lab's.

    `claims` says which lab guards what; `node_claims` gives None where Kubernetes does not answer.
    """
    known, before = known_tags(lab), clock.now() - JOINS
    found = [
        (instance, tags)
        for instance, tags in instances.of_cluster(lab.cluster_name)
        if instance.alive
        and instance.launched <= before
        and gpu_type(instance.type) is not None
        and not any(each.items() <= tags.items() for each in known)
    ]
    if not found:
        return ()
    claimed = claims.of(sorted({named_in(tags) for _, tags in found} - {""}))
    by_instance, ours = node_claims(), {identity(lab, pool).name for pool in lab.pools_with("node pool")}
    outside = (
        outside_instance(instance, tags, by_instance)
        for instance, tags in found
        if named_in(tags) not in claimed or claimed[named_in(tags)].lab == lab.name
    )
    # Somebody may have taken the tags off an instance of a lease; its claim still says whose it is.
    return tuple(one for one in outside if one.claim is None or one.claim.node_pool not in ours)


def every_node_claim(connection: "Connection") -> NodeClaims:
    """The NodeClaims of the cluster that have an instance."""
    from lamplighter.adapters.capacity.node_pool.claims import Claims  # noqa: PLC0415 -- only where there is one

    return {claim.instance: claim for claim in Claims(connection).every() if claim.instance}


def may_end(capacity: CapacityServices) -> bool:
    """Whether the guard may end them now: a person may have put a pool into watch mode."""
    lab, ledger = capacity.lab, capacity.ledger
    return owns_the_cluster(lab) and all(capacity.enforces(ledger.pool(pool)) for pool in lab.pools)


def end_claims(connect: "Callable[[], Connection]", facts: PoolFacts, breach: Breach) -> Said | None:
    """Delete the NodeClaims of these instances: their controller drains and ends them. Returns what failed."""
    from lamplighter.adapters.capacity.node_pool.claims import Claims  # noqa: PLC0415 -- only where there is one

    named = [
        one.claim.name
        for one in facts.outside
        if one.instance.id in breach.instances and one.claim is not None
    ]

    def end(name: str) -> None:
        claims = Claims(connect())
        # Before the deletion: the NodePool's own grace may be a day, or none at all.
        claims.end_by(name, facts.now + GRACE)
        claims.delete(name)

    return _each(named, end)


def terminate(instances: "Instances", breach: Breach) -> Said | None:
    """Terminate these instances, one by one: EC2 refuses all if one is protected. Returns what failed."""
    return _each(breach.instances, lambda instance: instances.terminate([instance]))


def _each(names: Sequence[str], end: Callable[[str], None]) -> Said | None:
    """Somebody else's instance that cannot be ended is no failure of the sweep: it would silence the heartbeat."""
    failed: list[Said] = []
    for name in names:
        try:
            end(name)
        except (OutsideFailed, TryLater) as error:
            _logger.warning("%s is not ended: %s", name, error)
            failed.append(error.said)
    return several(failed) if failed else None
