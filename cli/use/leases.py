"""`lamplighter leases`: who has or will have nodes, until when, and how much money the lab holds for it."""

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, known_names, printing
from cli.options import AsJson, LabName, OnePool
from lamplighter.domain.leases.lease import OVER, Lease
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.reasons.fields import to_document
from lamplighter.values.instant import written


def command(
    pool: OnePool = None,
    everything: Annotated[bool, typer.Option("--all", help="Also closed and refused leases.")] = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show the leases: planned, open and closing.

    \b
    Examples:
      lamplighter leases
      lamplighter leases gpu --all --json
    """
    deployed = deployment.find(lab_name)
    leases = [
        lease
        for name in deployed.pools(pool)
        for lease in deployed.ledger.leases(name)
        if everything or lease.state not in OVER
    ]
    known_names.note("leases", [lease.id for lease in leases if lease.state not in OVER])
    if as_json:
        printing.as_json([document(lease, deployed.zone) for lease in leases])
        return
    if not leases:
        printing.say("There is no lease: no GPU node may run now or in the next 36 hours.")
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
                printing.local(lease.opens, deployed.zone),
                printing.local(lease.closes, deployed.zone),
                str(lease.hold),
            ]
            for lease in leases
        ],
    )


def document(lease: Lease | LeaseView, zone: ZoneInfo) -> dict[str, object]:
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
        "because": None if lease.because is None else printing.drawn(lease.because, zone),
        "moved_to": lease.moved_to and to_document(lease.moved_to),
        "moved_from": lease.moved_from and to_document(lease.moved_from),
    }
