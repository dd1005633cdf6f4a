"""The last close: a destroy of the controller first closes all pools, then checks that zero is proven.

CloseLab closes. This file says which closes run, and judges the pools after them.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.services import CapacityServices, deployed
from lamplighter.domain.capacity.kinds import zero as zero_of
from lamplighter.domain.capacity.zero import PROVEN
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.values import instant

BECAUSE = reason("lease.lab-destroyed")
GOOD_FOR = timedelta(hours=2)


def start(event: Mapping[str, object], workflow: str) -> None:
    """Starts the workflow with CloudFormation's event and the closes; the workflow answers at its end."""
    capacity = deployed()
    now, request = capacity.now(), str(event["RequestId"])
    # First, so that a planner or an opening that runs meanwhile finds the lab paused.
    capacity.ledger.begin_last_close("cdk destroy", now)
    for pool in capacity.lab.pools:
        for lease in capacity.ledger.leases(pool):
            if lease.state is LeaseState.PLANNED:
                capacity.ledger.unplan(pool, lease.id)
    closes = [{"command": command.to_json()} for command in closes_of(capacity, request, now)]
    document = {"event": event, "closes": closes, "asked": instant.written(now)}
    Workflows().start_with(workflow, f"last-close-{request}"[:80], json.dumps(document))


def closes_of(capacity: CapacityServices, request: str, now: datetime) -> Iterator[Command]:
    """A close for each lease that holds nodes, and one for each other pool, for its proof of zero."""
    for pool in capacity.lab.pools:
        holding: list[Lease | None] = [lease for lease in capacity.ledger.leases(pool) if _holds(lease)]
        for lease in holding or [None]:
            yield Command(
                id=f"destroy-{request}-{lease.id if lease else pool}",
                verb=Verb.CLOSE,
                pool=pool,
                owner=lease.owner if lease else capacity.lab.owner,
                by="cdk destroy",
                source="event",
                issued=now,
                expires=now + GOOD_FOR,
                lease=lease.id if lease else None,
                because=BECAUSE,
            )


def _holds(lease: Lease) -> bool:
    return lease.granted or lease.state is LeaseState.CLOSING


def unproven(run: Mapping[str, object]) -> Reason | None:
    """Why the destroy must fail, or None: every pool is at zero now, and CloseLab proved it since it was asked."""
    asked = run.get("asked")
    if not isinstance(asked, str):
        raise BadInput(reason("deploy.no-instant-of-destroy"))
    capacity = deployed()
    since = instant.read(asked)
    pools = tuple(
        reason("deploy.of-pool", pool=pool, reason=still_there)
        for pool in capacity.lab.pools
        if (still_there := _still_there(capacity, pool, since)) is not None
    )
    return reason("deploy.not-at-zero", pools=Sentences(pools)) if pools else None


def _still_there(capacity: CapacityServices, pool: str, since: datetime) -> Said | None:
    entries = capacity.ledger.audit(pool, since)
    proven = any(entry.kind == PROVEN and entry.nodes == 0 for entry in entries)
    # This function has no way into Kubernetes: the audit trail has what CloseLab read there.
    zero = zero_of(capacity.see(pool), capacity.now(), () if proven else None)
    if not zero.proven:
        return zero.reason(pool)
    if any(_holds(lease) for lease in capacity.ledger.leases(pool)):
        return reason("deploy.lease-not-settled")
    return None
