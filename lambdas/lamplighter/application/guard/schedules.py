"""The schedules of leases: within one sweep, the guard has corrected what somebody deleted, changed or added.

One listing tells whether anything is wrong (domain/schedules/drift.py). The guard then starts the planner, which
corrects the schedules, and does not wait for it.
"""

import logging
from collections.abc import Mapping, Sequence

from lamplighter.application.guard.services import GuardServices, LabFacts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.drift import Drift, drift
from lamplighter.reasons.reason import reason

_logger = logging.getLogger(__name__)


def reconcile(
    guard_services: GuardServices, lab_facts: LabFacts, leases: Mapping[str, Sequence[Lease]]
) -> Drift | None:
    """Start the planner where the schedules differ from what the leases need; None where they could not be read."""
    lab = guard_services.capacity.lab
    if lab_facts.listed is None or lab_facts.pauses is None or set(leases) != set(lab.pools):
        # A schedule may belong to a lease that could not be read.
        return None
    ledger, now = guard_services.capacity.ledger, guard_services.capacity.now()
    changes = drift(
        lab_facts.listed,
        [lease for of_pool in leases.values() for lease in of_pool],
        guard_services.lease_services.workflow_arns,
        lab_facts.pauses,
        planned_at=ledger.planned_at(),
        now=now,
    )
    if not changes.any:
        return changes
    guard_services.wake_planner()
    why = changes.reason
    if why:
        _logger.warning("the guard starts the planner: %s", why)
        for pool in lab.pools:
            ledger.append_audit(Entry(now, pool, "rescheduled", "guard", reason("guard.did.reschedule"), why))
    return changes
