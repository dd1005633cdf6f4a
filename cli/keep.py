"""`lamplighter keep`: keeps a lease that is to be closed because nobody uses its GPUs."""

from typing import Annotated

import typer

from cli import changes, deployment
from cli.options import AsJson, LabName
from lamplighter.domain.commands import Verb
from lamplighter.domain.lease import Lease
from lamplighter.errors import BadInput, Refused


def command(
    what: Annotated[
        str | None, typer.Argument(metavar="[POOL|LEASE]", help="The pool, or one lease by its id.")
    ] = None,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[because TEXT]", help="For the audit trail.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Keep a lease until its end though no pod holds a GPU. It ends then as usual.

    Exit code 0: kept, or it was before. 1: refused, with the reason.

    \b
    Examples:
      lamplighter keep
      lamplighter keep cli-1a2b3c4d because the data is still coming
    """
    found = deployment.find(lab_name)
    because = changes.reason(list(words or []))
    running = [
        lease for name in found.lab.pools for lease in found.ledger.leases(name) if lease.in_force(found.now)
    ]
    lease = _meant(running, what, list(found.lab.pools))
    changes.give(found, Verb.KEEP, pool=lease.pool, lease=lease.id, because=because, as_json=as_json)


def _meant(running: list[Lease], what: str | None, pools: list[str]) -> Lease:
    meant = [lease for lease in running if what in (None, lease.id, lease.pool)]
    if len(meant) == 1:
        return meant[0]
    names = ", ".join(f"{lease.id} ({lease.owner})" for lease in running) or "none"
    if meant:
        raise BadInput(f"several leases are running, name one of {names}")
    if what is None or what in pools:
        raise Refused("there is no running lease to keep")
    raise BadInput(f"'{what[:80]}' is neither a pool nor a running lease; leases: {names}")
