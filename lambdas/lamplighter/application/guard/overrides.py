"""GPU Operator settings that leases changed: the guard has those that outlived their leases given back.

The guard reads the ledger, not the ClusterPolicy. It starts the cluster function, which gives the settings back, and
does not wait for it. It starts it again for a while after the revert: a late change may have come after it.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.gpu.overrides import Override
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason

_logger = logging.getLogger(__name__)

FORGOTTEN = timedelta(minutes=8)
"""CloseLab gives settings back within a minute, and its function may run for five."""
LANDS_WITHIN = timedelta(minutes=12)
"""A change that was under way at the revert takes effect by then."""


def give_back_forgotten(
    guard_services: GuardServices, leases: Mapping[str, Sequence[Lease]]
) -> list[Override]:
    """Start the revert of every override that no running lease holds, and return those."""
    now, ledger = guard_services.capacity.now(), guard_services.capacity.ledger
    due = [override for override in ledger.overrides() if _due(override, leases, now)]
    for override in due:
        pool = next(iter(override.holders.values()))
        guard_services.give_back(pool)
        if override.ended is None and now - _over_since(override, leases, now) >= FORGOTTEN:
            fields = tuple(field.called for field in override.before.fields)
            why = reason("guard.settings-left", leases=tuple(sorted(override.holders)), fields=fields)
            _logger.warning("forgotten settings: %s", why)
            what = reason("guard.did.give-back", pool=pool)
            ledger.append_audit(Entry(now, pool, "breach", "guard", what, why))
    return due


def _due(override: Override, leases: Mapping[str, Sequence[Lease]], now: datetime) -> bool:
    if override.ended is not None:
        return now - override.ended < LANDS_WITHIN
    # Of a pool that could not be read, the sweep does not know whether its lease runs.
    if not set(override.holders.values()) <= set(leases):
        return False
    return not any(lease.in_force(now) for lease in _holders(override, leases))


def _over_since(override: Override, leases: Mapping[str, Sequence[Lease]], now: datetime) -> datetime:
    return max(
        (lease.closes for lease in _holders(override, leases) if lease.closes <= now), default=override.since
    )


def _holders(override: Override, leases: Mapping[str, Sequence[Lease]]) -> list[Lease]:
    return [lease for name, pool in override.holders.items() for lease in leases[pool] if lease.id == name]
