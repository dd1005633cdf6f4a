"""`lamplighter leases`: who has or will have nodes, until when, and the money held for it."""

from typing import Annotated

import typer

from cli import deployment, printing
from cli.look_after import known_names
from cli.options import AsJson, LabName
from lamplighter.domain.leases.lease import OVER, Lease
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.values.instant import written


def command(
    pool: Annotated[
        str | None, typer.Argument(metavar="[POOL]", help="Only this pool.", autocompletion=known_names.pools)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also leases that are over: closed or refused.")
    ] = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show the leases: planned, in force and being closed.

    \b
    Examples:
      lamplighter leases
      lamplighter leases gpu --all --json
    """
    found = deployment.find(lab_name)
    leases = [
        lease
        for name in found.pools(pool)
        for lease in found.ledger.leases(name)
        if everything or lease.state not in OVER
    ]
    known_names.note("leases", [lease.id for lease in leases if lease.state not in OVER])
    if as_json:
        printing.as_json([document(lease) for lease in leases])
        return
    if not leases:
        printing.say("No lease: no node is justified, now or in the next 36 hours.")
        return
    printing.table(
        ["lease", "pool", "nodes", "owner", "state", "opens", "closes", "hold"],
        [
            [
                lease.id,
                lease.pool,
                str(lease.nodes),
                lease.owner,
                lease.state.value,
                printing.local(lease.opens, found.zone),
                printing.local(lease.closes, found.zone),
                str(lease.hold),
            ]
            for lease in leases
        ],
    )


def document(lease: Lease | LeaseView) -> dict[str, object]:
    """The contract's row of `leases --json`."""
    return {
        "id": lease.id,
        "pool": lease.pool,
        "nodes": lease.nodes,
        "owner": lease.owner,
        "source": lease.source,
        "state": lease.state.value,
        "opens": written(lease.opens),
        "closes": written(lease.closes),
        "hold": lease.hold.to_json(),
        "window": lease.window,
        "date": lease.date,
        "because": None if lease.because is None else str(lease.because),
    }
