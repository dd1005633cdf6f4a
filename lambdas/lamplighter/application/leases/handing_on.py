"""Step HandOn: a run that waits long for capacity starts the one that carries its lease on, and ends.

The new run has this one's state, and Admit's answer with it. Nothing is granted, closed or ordered here. Asked
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
from lamplighter.domain.leases.handing_on import is_long, next_run
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.errors import BadInput, OutsideFailed, Stale, TryLater


def hand_on(run: Mapping[str, object], lease_services: LeaseServices) -> dict[str, object]:
    """Gives `{"handed_on", "events", "run"}`: whether the workflow goes on in another run, and in which."""
    execution, workflows = str(run.get("execution") or ""), Workflows()
    if not execution:
        raise BadInput("execution: HandOn needs the ARN of the run that waits")
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
            what = f"goes on opening {lease.called()} in run {name}"
            why = f"the run before has {events} events, and Step Functions ends one at 25,000"
            lease_services.ledger.append_audit(
                Entry(lease_services.now(), pool, "handed-on", "leases", what, why, lease.id)
            )
    return {"handed_on": True, "events": events, "run": name}


def stop_if_handed_on(run: Mapping[str, object], lease_services: LeaseServices) -> None:
    """Stale where HandOn failed after it had started the next run: that one carries the lease on, and this one ends.

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
        # A failure here would close the lease. Two runs at one lease do no harm until the next HandOn, which ends one.
        logger().warning("nobody can tell whether run %s was started: %s", name, unknown)
        return
    pool = pool_of(run, lease_services.capacity.lab)
    lease = _granted(run, pool, lease_services)
    if lease is not None:
        lease_services.ledger.carried_on_by(pool, lease.id, name)
    raise Stale(f"run {name} was started before HandOn failed ({failed}): it carries the lease on")


def _next(execution: str) -> str:
    return next_run(execution.rpartition(":")[2])


def _granted(run: Mapping[str, object], pool: str, lease_services: LeaseServices) -> Lease | None:
    granted = result(run, "Admit").get("lease")
    return lease_services.ledger.lease(pool, str(granted["id"])) if isinstance(granted, Mapping) else None
