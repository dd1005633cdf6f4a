"""`lamplighter open`: asks for a lease, and says until when it is granted, or why it is refused."""

from dataclasses import replace
from typing import Annotated

import typer

from cli import deployment, known_names, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName
from cli.use import changes, meant, orders
from cli.use.free_times import rows
from cli.use.leases import document
from cli.use.wait import ForOpening, Opening, until_open
from lamplighter.application.views.free_times import after_refusal
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.commands.orders import opening
from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.leases.lease import Lease
from lamplighter.errors import BadInput
from lamplighter.values.counted import counted
from lamplighter.values.instant import written


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[POOL] [N] [at T] [for D|until T] [because TEXT]",
            help="The pool, the nodes and the time.",
            autocompletion=known_names.pools,
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Add nodes to a pool that is open already.")] = False,
    wait: ForOpening = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Who answers for the lease; default: you.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Open a pool, now or at a later time: ask for a lease of nodes until an instant.

    With `at` the lease is granted ahead: the lab holds its money, and it opens by itself unless somebody closes it,
    or its money is spent by then. A lease lasts at least 5 minutes.
    On each pool a person may have as many leases ahead as `guard.most_ahead` says, 40 by default, and all people
    together 200.

    Exit code 0: granted, or open already. 1: refused, with the reason. With --wait, 1 also means that the GPUs are
    not proven: the lease stays, and the lab tries again until it ends. It always waits for the lab's decision, so
    --wait granted changes nothing.

    \b
    Examples:
      lamplighter open
      lamplighter open 2 for 90m because the exam is today
      lamplighter open gpu 1 until 22:30 --wait
      lamplighter open gpu 1 --add
      lamplighter open gpu 2 at fri 20:00 for 3h because of the exam
    """
    deployed = deployment.find(lab_name)
    wanted = meant.open_words(deployed, list(words or []))
    if wait is Opening.OPEN and wanted.opens is not None:
        raise BadInput("--wait: waits for an opening now, leave it out with 'at' or write --wait granted")
    order = _order(deployed, wanted, owner, add=add)
    decision = orders.give(deployed, order)
    lease_id = decision.lease or decision.about
    lease = deployed.ledger.lease(order.pool, lease_id) if lease_id else None
    granted = decision.outcome in ("granted", "already-open")
    if granted and wait is Opening.OPEN and lease is not None:
        lease, granted = until_open(deployed, lease)
    _answer(deployed, order, decision, lease, as_json=as_json)
    raise typer.Exit(0 if granted else 1)


def _order(deployed: Deployment, wanted: OpenWords, owner: str | None, *, add: bool) -> Command:
    order = orders.order(deployed, Verb.OPEN, deployed.pool(wanted.pool))
    order = replace(order, owner=owner or order.owner, for_lab=owner not in {None, order.by})
    return opening(order, wanted, deployed.lab.guard.default_lease, add=add)


def _answer(
    deployed: Deployment, order: Command, decision: Decision, lease: Lease | None, *, as_json: bool
) -> None:
    earliest = decision.earliest
    free = after_refusal(decision, order, deployed.lab, deployed.ledger, deployed.now)
    changes.answer(
        deployed,
        decision,
        as_json=as_json,
        document={
            "lease": document(lease, deployed.zone) if lease else None,
            "earliest": written(earliest) if earliest else None,
            "free": rows(free or ()),
        },
    )
    if as_json:
        return
    if lease is not None:
        until = printing.local(lease.closes, deployed.zone)
        since = f"from {printing.local(lease.opens, deployed.zone)} " if lease.opens > deployed.now else ""
        printing.say(
            f"lease {lease.id}: {counted(lease.nodes, 'node')} on {lease.pool} {since}until {until}, "
            f"{lease.hold} held"
        )
    if earliest is not None:
        printing.say(f"it would be granted from {printing.local(earliest, deployed.zone)} on")
    for one in free or ():
        begins, ends = (printing.local(at, deployed.zone) for at in (one.begins, one.ends))
        printing.say(f"free: {begins} until {ends}")
    if earliest is not None and free is not None and not free:
        printing.say("not free for so long in the coming week")
