"""`lamplighter windows`: the planned windows of the next 36 hours, and those that were refused."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.options import AsJson, LabName
from lamplighter.domain.instant import written
from lamplighter.domain.lease import Lease, LeaseState


def command(
    pool: Annotated[str | None, typer.Argument(metavar="[POOL]", help="Only this pool.")] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show the windows that are planned, running or refused.

    \b
    Examples:
      lamplighter windows
      lamplighter windows gpu --json
    """
    found = deployment.find(lab_name)
    leases = [
        lease
        for name in found.pools(pool)
        for lease in found.ledger.leases(name)
        if lease.window is not None and lease.state is not LeaseState.CLOSED
    ]
    if as_json:
        printing.as_json([_document(lease) for lease in leases])
        return
    if not leases:
        printing.say("No window opens in the next 36 hours.")
        return
    printing.table(
        ["window", "date", "pool", "nodes", "owner", "state", "opens", "closes", "why"],
        [
            [
                lease.window or "",
                lease.date or "",
                lease.pool,
                str(lease.nodes),
                lease.owner,
                lease.state.value,
                printing.local(lease.opens, found.zone),
                printing.local(lease.closes, found.zone),
                lease.because or "",
            ]
            for lease in leases
        ],
    )


def _document(lease: Lease) -> dict[str, object]:
    return {
        "window": lease.window,
        "date": lease.date,
        "pool": lease.pool,
        "nodes": lease.nodes,
        "owner": lease.owner,
        "state": lease.state.value,
        "opens": written(lease.opens),
        "closes": written(lease.closes),
        "lease": lease.id,
        "reason": lease.because,
    }
