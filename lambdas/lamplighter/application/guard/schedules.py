"""The guard and the windows' schedules: what somebody took away, changed or added is put right within a sweep.

One listing tells whether anything is wrong (domain/schedules/drift.py); putting it right is the planner's,
which is started and not waited for.
"""

import logging
from collections.abc import Mapping, Sequence

from lamplighter.application.guard.services import GuardServices, LabFacts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.drift import Drift, drift

_logger = logging.getLogger(__name__)


def reconcile(
    guard_services: GuardServices, lab_facts: LabFacts, leases: Mapping[str, Sequence[Lease]]
) -> Drift | None:
    """Start the planner where the schedules are not what the leases ask for; None where nobody could tell."""
    lab = guard_services.capacity.lab
    if lab_facts.listed is None or lab_facts.pauses is None or set(leases) != set(lab.pools):
        # What could not be read is no reason to call a schedule strange.
        return None
    ledger, now = guard_services.capacity.ledger, guard_services.capacity.now()
    found = drift(
        lab_facts.listed,
        [lease for of_pool in leases.values() for lease in of_pool],
        guard_services.lease_services.workflow_arns,
        lab_facts.pauses,
        planned_at=ledger.planned_at(),
        now=now,
    )
    if not found.any:
        return found
    guard_services.wake_planner()
    if found.reason:
        _logger.warning("the planner is started: %s", found.reason)
        for pool in lab.pools:
            ledger.append_audit(
                Entry(now, pool, "rescheduled", "guard", "has the schedules put right", found.reason)
            )
    return found
