"""Step HandOn: a run that waits long for capacity starts the next run, which continues its lease, and ends.

The next run gets this run's state, with the answer of Admit. Nothing is granted, closed or ordered here. Called
twice, it starts the same run.
"""

import json
from collections.abc import Mapping

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.application.leases.services import LeaseServices
from lamplighter.application.logs import logger
from lamplighter.application.run import pool_of, result
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.granting.handing_on import STEP_FUNCTIONS_LIMIT, is_long, next_run
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.errors import BadInput, OutsideFailed, Stale, TryLater
from lamplighter.reasons.reason import reason


def hand_on(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Returns `{"handed_on", "events", "run"}`: whether another run continues the workflow, and its name."""
    execution, workflows = str(run.get("execution") or ""), Workflows()
    if not execution:
        raise BadInput(reason("lease.no-execution"))
    events = workflows.events(execution)
    if not is_long(events):
        return {"handed_on": False, "events": events, "run": None}
    pool, name = pool_of(run, lease_services.capacity.lab), _next(execution)
    state = {key: value for key, value in run.items() if key in {"command", "results"}}
    begun = workflows.start_with(ENVIRONMENT.open_lab, name, json.dumps(state))
    lease = _granted(run, pool, lease_services)
    if lease is not None:
        lease_services.ledger.carried_on_by(pool, lease.id, name)
        if begun:
            what = reason("audit.handed-on", lease=lease.called(), run=name)
            why = reason("audit.handed-on.why", events=events, most=STEP_FUNCTIONS_LIMIT)
            lease_services.ledger.append_audit(
                Entry(lease_services.now(), pool, "handed-on", "leases", what, why, lease.id)
            )
    return {"handed_on": True, "events": events, "run": name}


def stop_if_handed_on(run: Mapping[str, object], lease_services: LeaseServices) -> None:
    """Raises Stale if HandOn failed after it had started the next run: that run continues the lease, this one ends.

    Asked before another round. The run's `execution` is its ARN.
    """
    execution, failed = str(run.get("execution") or ""), result(run, "HandOn").get("Error")
    if not execution or not failed:
        return
    name = _next(execution)
    try:
        if Workflows().ended(ENVIRONMENT.open_lab, name) is RunEnd.NEVER_STARTED:
            return
    except (OutsideFailed, TryLater) as unknown:
        # A failure here would close the lease. Two runs of one lease do no harm until the next HandOn, which ends one.
        logger().warning("nobody can tell whether run %s was started: %s", name, unknown)
        return
    pool = pool_of(run, lease_services.capacity.lab)
    lease = _granted(run, pool, lease_services)
    if lease is not None:
        lease_services.ledger.carried_on_by(pool, lease.id, name)
    raise Stale(reason("lease.handed-on-before", run=name, error=str(failed)))


def _next(execution: str) -> str:
    return next_run(execution.rpartition(":")[2])


def _granted(run: Mapping[str, object], pool: str, lease_services: LeaseServices) -> Lease | None:
    granted = result(run, "Admit").get("lease")
    return lease_services.ledger.lease(pool, str(granted["id"])) if isinstance(granted, Mapping) else None
