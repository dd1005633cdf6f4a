"""The guard and what leases changed of the GPU Operator: what outlived its leases is given back.

The guard reads the ledger and no ClusterPolicy; the giving back is the cluster function's, which is started
and not waited for. A loan that was given back is looked after for a while: a change that was on its way then
may have landed after it.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.application.guard.watch import Watch
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.gpu.overrides import Loan
from lamplighter.domain.leases.lease import Lease

_logger = logging.getLogger(__name__)

# CloseLab gives it back within a minute; the function may live five.
FORGOTTEN = timedelta(minutes=8)
LANDS_WITHIN = timedelta(minutes=12)


def give_back_forgotten(watch: Watch, leases: Mapping[str, Sequence[Lease]]) -> list[Loan]:
    """Start the giving back of every loan that no running lease holds; those that were started for."""
    now, ledger = watch.capacity.now(), watch.capacity.ledger
    found = [loan for loan in ledger.loans() if _due(loan, leases, now)]
    for loan in found:
        pool = next(iter(loan.holders.values()))
        watch.give_back(pool)
        why = (
            f"{' and '.join(sorted(loan.holders))} changed {loan.called()} of the ClusterPolicy and is over;"
            " it goes back to Helm"
        )
        if loan.ended is None and now - _over_since(loan, leases, now) >= FORGOTTEN:
            _logger.warning("forgotten settings: %s", why)
            ledger.append_audit(
                Entry(now, pool, "breach", "guard", "gives back GPU settings that outlived their lease", why)
            )
    return found


def _due(loan: Loan, leases: Mapping[str, Sequence[Lease]], now: datetime) -> bool:
    if loan.ended is not None:
        return now - loan.ended < LANDS_WITHIN
    # Of a pool that could not be read nobody knows whether its lease runs.
    if not set(loan.holders.values()) <= set(leases):
        return False
    return not any(lease.in_force(now) for lease in _holders(loan, leases))


def _over_since(loan: Loan, leases: Mapping[str, Sequence[Lease]], now: datetime) -> datetime:
    return max((lease.closes for lease in _holders(loan, leases) if lease.closes <= now), default=loan.since)


def _holders(loan: Loan, leases: Mapping[str, Sequence[Lease]]) -> list[Lease]:
    return [lease for name, pool in loan.holders.items() for lease in leases[pool] if lease.id == name]
