"""The last close: what a destroy of the controller closes first, and whether zero was proven after it.

Closing is CloseLab's; this only says which closes to run and judges what is left when they are done.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.capacity import Capacity, deployed
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.zero import PROVEN
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant

BECAUSE = reason("lease.lab-destroyed")
GOOD_FOR = timedelta(hours=2)


def start(event: Mapping[str, object], workflow: str) -> None:
    """Hand CloudFormation's event and the closes to the workflow, which answers when it is done."""
    capacity = deployed()
    now, request = capacity.now(), str(event["RequestId"])
    # First of all: a planner that runs beside this, or an opening under way, finds the lab paused.
    capacity.ledger.begin_last_close("cdk destroy", now)
    for pool in capacity.lab.pools:
        for lease in capacity.ledger.leases(pool):
            if lease.state is LeaseState.PLANNED:
                capacity.ledger.unplan(pool, lease.id)
    closes = [{"command": command.to_json()} for command in closes_of(capacity, request, now)]
    document = {"event": event, "closes": closes, "asked": instant.written(now)}
    Workflows().start_with(workflow, f"last-close-{request}"[:80], json.dumps(document))


def closes_of(capacity: Capacity, request: str, now: datetime) -> Iterator[Command]:
    """A close for each lease that holds nodes, and one for each pool without any, for the proof."""
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


def unproven(run: Mapping[str, object]) -> str | None:
    """Why the destroy must fail, or None: every pool is at zero now, and CloseLab proved it since it was asked."""
    asked = run.get("asked")
    if not isinstance(asked, str):
        raise BadInput("run.asked: Respond needs the instant at which the destroy began")
    capacity = deployed()
    since = instant.read(asked)
    reasons = [
        f"pool {pool}: {reason}"
        for pool in capacity.lab.pools
        if (reason := _still_there(capacity, pool, since)) is not None
    ]
    if not reasons:
        return None
    return f"{'; '.join(reasons)}. The controller stays, so that it goes on closing; destroy it again later"


def _still_there(capacity: Capacity, pool: str, since: datetime) -> Said | None:
    entries = capacity.ledger.audit(pool, since)
    proven = any(entry.kind == PROVEN and entry.nodes == 0 for entry in entries)
    # This function has no way into Kubernetes: the audit trail has what CloseLab read there.
    zero = capacity.see(pool).zero(capacity.now(), kubernetes_nodes=() if proven else None)
    if not zero.proven:
        return zero.reason(pool)
    if any(_holds(lease) for lease in capacity.ledger.leases(pool)):
        return "a lease is not settled yet"
    return None
