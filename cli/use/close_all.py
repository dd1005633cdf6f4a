"""`lamplighter close --all POOL`: everything on a pool goes, by one order, after saying what that is."""

from collections.abc import Iterator
from dataclasses import replace

import typer

from cli import printing
from cli.deployment import Deployment
from cli.use import agreed, orders
from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.clock import sleep
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.zero import PROVEN
from lamplighter.errors import Refused
from lamplighter.values.counted import counted

WAIT_POLL_SECONDS = 2


def close_all(found: Deployment, pool: str, *, wait: bool, yes: bool, as_json: bool) -> None:
    """Close every lease of the pool that has begun, and whatever runs there without one."""
    leases = [lease for lease in found.ledger.leases(pool) if _runs(lease, found)]
    if not yes:
        plan = _plan(found, pool, leases)
        must = "say --yes to close all of this"
        agreed.agree(plan, "Close all of it?", "nothing was closed", as_json=as_json, must=must)
    order = orders.order(found, Verb.CLOSE, pool)
    decision = orders.give(found, replace(order, for_lab=True))
    if wait and decision.outcome == "closing":
        _wait(found, pool)
    if as_json:
        printing.as_json(
            {
                "pool": pool,
                "leases": [lease.id for lease in leases],
                "outcome": decision.outcome,
                "reason": printing.drawn(decision.reason, found.zone),
            }
        )
    else:
        printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, found.zone)}")
    raise typer.Exit(0 if decision.outcome == "closing" else 1)


def _plan(found: Deployment, pool: str, leases: list[Lease]) -> Iterator[str]:
    """What would go, and what stays."""
    yield from (agreed.ending(lease, found) for lease in leases)
    group = NodeGroups(found.lab.cluster_name).read(found.lab.nodegroup_name(pool))
    there = group.desired if group else 0
    beside = max(0, there - sum(lease.nodes for lease in leases))
    if beside:
        yield f"would close {counted(beside, 'node')} on {pool} that no lease justifies"
    if not leases and not beside:
        yield f"pool {pool} has nothing running: zero would be ordered again, and proven"
    for lease in found.ledger.leases(pool):
        if _waits(lease, found):
            opens = printing.local(lease.opens, found.zone)
            yield f"stays: {lease.id} opens at {opens}; `lamplighter pause` keeps it closed"


def _runs(lease: Lease, found: Deployment) -> bool:
    return lease.opens <= found.now and (lease.granted or lease.state is LeaseState.CLOSING)


def _waits(lease: Lease, found: Deployment) -> bool:
    return lease.opens > found.now and (lease.granted or lease.state is LeaseState.PLANNED)


def _wait(found: Deployment, pool: str) -> None:
    """Until no lease that had begun is left, and zero was proven after the order."""
    since = found.now
    while True:
        sleep(WAIT_POLL_SECONDS)
        state = found.ledger.pool(pool)
        if state.leaked_since is not None:
            raise Refused(f"pool {pool} is leaked: {state.leaked_because}")
        proven = any(entry.kind == PROVEN for entry in found.ledger.audit(pool, since))
        if proven and not any(_runs(lease, found) for lease in found.ledger.leases(pool)):
            return
