"""`lamplighter close --all POOL`: everything on a pool goes, by one order, after saying what that is."""

import sys
import time
from dataclasses import replace

import typer

from cli import orders, printing
from cli.deployment import Deployment
from lamplighter.adapters.aws.nodegroups import NodeGroups
from lamplighter.domain.commands import Verb
from lamplighter.domain.counted import counted
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.errors import Refused

WAIT_POLL_SECONDS = 2


def close_all(found: Deployment, pool: str, *, wait: bool, yes: bool, as_json: bool) -> None:
    """Close every lease of the pool that has begun, and whatever runs there without one."""
    leases = [lease for lease in found.ledger.leases(pool) if _runs(lease, found)]
    if not yes:
        _agree(found, pool, leases)
    order = orders.order(found, Verb.CLOSE, pool)
    decision = orders.give(found, replace(order, because=f"{order.by} closed all of pool {pool}"))
    if wait and decision.outcome == "closing":
        _wait(found, pool)
    if as_json:
        printing.as_json(
            {
                "pool": pool,
                "leases": [lease.id for lease in leases],
                "outcome": decision.outcome,
                "reason": decision.reason,
            }
        )
    else:
        printing.say(f"{decision.outcome}: {decision.reason}")
    raise typer.Exit(0 if decision.outcome == "closing" else 1)


def tell(lease: Lease, found: Deployment) -> None:
    """What would end, before anybody agrees to it."""
    printing.say(
        f"would end {lease.id}: {counted(lease.nodes, 'node')} on {lease.pool} for {lease.owner}, "
        f"granted until {printing.local(lease.closes, found.zone)}"
    )


def _agree(found: Deployment, pool: str, leases: list[Lease]) -> None:
    """Say what would go, and ask; without a terminal nobody can answer, so --yes must have been said."""
    for lease in leases:
        tell(lease, found)
    group = NodeGroups(found.lab.cluster_name).read(found.lab.nodegroup_name(pool))
    there = group.desired if group else 0
    beside = max(0, there - sum(lease.nodes for lease in leases))
    if beside:
        printing.say(f"would close {counted(beside, 'node')} on {pool} that no lease justifies")
    if not leases and not beside:
        printing.say(f"pool {pool} has nothing running: zero would be ordered again, and proven")
    ahead = [lease for lease in found.ledger.leases(pool) if _waits(lease, found)]
    for lease in ahead:
        printing.say(
            f"stays: {lease.id} opens at {printing.local(lease.opens, found.zone)}; "
            "`lamplighter pause` keeps it closed"
        )
    if not sys.stdin.isatty():
        raise Refused("nothing was closed: say --yes to close all of this")
    if not typer.confirm("Close all of it?", err=True):
        raise Refused("nothing was closed")


def _runs(lease: Lease, found: Deployment) -> bool:
    return lease.opens <= found.now and (lease.granted or lease.state is LeaseState.CLOSING)


def _waits(lease: Lease, found: Deployment) -> bool:
    return lease.opens > found.now and (lease.granted or lease.state is LeaseState.PLANNED)


def _wait(found: Deployment, pool: str) -> None:
    """Until no lease that had begun is left, and zero was proven after the order."""
    since = found.now
    while True:
        time.sleep(WAIT_POLL_SECONDS)
        state = found.ledger.pool(pool)
        if state.leaked_since is not None:
            raise Refused(f"pool {pool} is leaked: {state.leaked_because}")
        proven = any(entry.kind == "zero-proven" for entry in found.ledger.audit(pool, since))
        if proven and not any(_runs(lease, found) for lease in found.ledger.leases(pool)):
            return
