"""`lamplighter close --all POOL`: shows what runs on a pool, and then closes all of it with one order."""

from collections.abc import Iterator
from dataclasses import replace

import typer

from cli import printing
from cli.deployment import Deployment
from cli.use import agreed, changes, orders
from lamplighter.application.leases.close_preview import ClosePreview, close_preview
from lamplighter.clock import sleep
from lamplighter.domain.capacity.zero import PROVEN
from lamplighter.domain.commands.command import Verb
from lamplighter.values.counted import counted

WAIT_POLL_SECONDS = 2


def close_all(deployed: Deployment, pool: str, *, wait: bool, yes: bool, as_json: bool) -> None:
    """Close every lease of the pool that has begun, and all nodes that run there without one."""
    preview = close_preview(deployed.capacity, pool, deployed.now)
    if not yes:
        agreed.agree(
            _plan(deployed, pool, preview),
            "Close all of it?",
            "nothing was closed",
            as_json=as_json,
            must="say --yes to close all of this",
        )
    order = orders.order(deployed, Verb.CLOSE, pool)
    decision = orders.give(deployed, replace(order, for_lab=True))
    if wait and decision.outcome == "closing":
        _wait(deployed, pool)
    leases = [lease.id for lease in preview.ending]
    changes.answer(deployed, decision, as_json=as_json, document={"pool": pool, "leases": leases})
    raise typer.Exit(0 if decision.outcome == "closing" else 1)


def _plan(deployed: Deployment, pool: str, preview: ClosePreview) -> Iterator[str]:
    """What would be closed, and what stays."""
    yield from (agreed.ending(lease, deployed) for lease in preview.ending)
    if preview.nodes_without_lease:
        yield f"would close {counted(preview.nodes_without_lease, 'node')} on {pool} that no lease justifies"
    if not preview.ending and not preview.nodes_without_lease:
        yield f"nothing runs on pool {pool}: zero would be ordered again, and proven"
    for lease in preview.later:
        opens = printing.local(lease.opens, deployed.zone)
        yield f"stays: {lease.id} opens at {opens}; `lamplighter pause` keeps it closed"


def _wait(deployed: Deployment, pool: str) -> None:
    """Until every lease that had begun is closed, and zero was proven after the order."""
    since, ledger = deployed.now, deployed.ledger
    while True:
        sleep(WAIT_POLL_SECONDS)
        orders.refuse_leaked(deployed, pool)
        proven = any(entry.kind == PROVEN for entry in ledger.audit(pool, since))
        if proven and not any(lease.unfinished(since) for lease in ledger.leases(pool)):
            return
