"""What the guard knows and tells of the controller of NodePools: whether it runs, and what it has not ended.

Without Kubernetes, or without the right to look, the guard does not know. That stops nothing.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamplighter.adapters.capacity import kinds
from lamplighter.application.guard.acts import write_down
from lamplighter.domain.capacity.kinds import KINDS, kind_of, needs_karpenter
from lamplighter.domain.capacity.node_pool.controller import faults
from lamplighter.domain.guard.facts import MEMORY
from lamplighter.domain.guard.node_pools.controllers import not_ended
from lamplighter.errors import LamplighterError
from lamplighter.reasons.reason import Reason

if TYPE_CHECKING:
    from lamplighter.application.guard.services import GuardServices
    from lamplighter.domain.capacity.node_pool.controller import Health

_logger = logging.getLogger(__name__)


def health(guard_services: "GuardServices") -> "Health | None":
    """How Karpenter is; None where no pool needs it, or nobody can tell."""
    lab = guard_services.capacity.lab
    if not needs_karpenter(lab):
        return None
    connection = guard_services.kubernetes()
    if connection is None:
        return None
    try:
        return kinds.controller_health(lab, connection)
    except LamplighterError as error:
        _logger.warning("it is not known whether Karpenter runs: %s", error)
        return None


def found_faults(guard_services: "GuardServices") -> tuple[Reason, ...]:
    """What is wrong with Karpenter now."""
    found = health(guard_services)
    return tuple(faults(found, guard_services.capacity.now())) if found else ()


def tell_not_ended(
    guard_services: "GuardServices", pool: str, instances: Sequence[str], lease: str | None
) -> None:
    """Write down and page, once, that the guard ended what its controller has not."""
    capacity = guard_services.capacity
    by_ec2 = KINDS[kind_of(capacity.lab, pool)].shown_by_ec2
    breach = not_ended(pool, instances, health(guard_services) if by_ec2 else None, lease, by_ec2=by_ec2)
    trail = capacity.ledger.audit(pool, capacity.now() - MEMORY)
    written = {entry.details.get("subject") for entry in trail if entry.details.get("rule") == breach.rule}
    if breach.subject not in written:
        write_down(guard_services, pool, breach)
