"""The guard and what leases changed of the GPU Operator: what outlived its leases is given back.

The guard reads the ledger and no ClusterPolicy; the giving back is the cluster function's, which is started
and not waited for. The guard looks at a reverted override for a while: a change that was on its way then
may have landed after it.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.gpu.overrides import Override
from lamplighter.domain.leases.lease import Lease

_logger = logging.getLogger(__name__)

# CloseLab gives it back within a minute; the function may live five.
FORGOTTEN = timedelta(minutes=8)
LANDS_WITHIN = timedelta(minutes=12)


def give_back_forgotten(
    guard_services: GuardServices, leases: Mapping[str, Sequence[Lease]]
) -> list[Override]:
    """Start the revert of every override that no running lease holds; gives those that were started."""
    now, ledger = guard_services.capacity.now(), guard_services.capacity.ledger
    found = [override for override in ledger.overrides() if _due(override, leases, now)]
    for override in found:
        pool = next(iter(override.holders.values()))
        guard_services.give_back(pool)
        why = (
            f"{' and '.join(sorted(override.holders))} changed {override.called()} of the ClusterPolicy and is over;"
            " it goes back to Helm"
        )
        if override.ended is None and now - _over_since(override, leases, now) >= FORGOTTEN:
            _logger.warning("forgotten settings: %s", why)
            ledger.append_audit(
                Entry(now, pool, "breach", "guard", "gives back GPU settings that outlived their lease", why)
            )
    return found


def _due(override: Override, leases: Mapping[str, Sequence[Lease]], now: datetime) -> bool:
    if override.ended is not None:
        return now - override.ended < LANDS_WITHIN
    # Of a pool that could not be read nobody knows whether its lease runs.
    if not set(override.holders.values()) <= set(leases):
        return False
    return not any(lease.in_force(now) for lease in _holders(override, leases))


def _over_since(override: Override, leases: Mapping[str, Sequence[Lease]], now: datetime) -> datetime:
    return max(
        (lease.closes for lease in _holders(override, leases) if lease.closes <= now), default=override.since
    )


def _holders(override: Override, leases: Mapping[str, Sequence[Lease]]) -> list[Lease]:
    return [lease for name, pool in override.holders.items() for lease in leases[pool] if lease.id == name]
