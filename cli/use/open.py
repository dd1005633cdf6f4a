"""`lamplighter open`: asks for a lease, and says until when it is granted, or why it is refused."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from cli import deployment, known_names, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName
from cli.use import changes, meant, orders
from cli.use.leases import document
from lamplighter.clock import sleep
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.commands.orders import opening
from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import draw
from lamplighter.values.counted import counted
from lamplighter.values.instant import written

WAIT_POLL_SECONDS = 2


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
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the GPUs are proven, or when they cannot be.")
    ] = False,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Who answers for the lease; default: you.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Open a pool, now or at a later time: ask for a lease of nodes until an instant.

    With `at` the lease is granted ahead: the lab holds its money, and it opens by itself unless somebody closes it,
    or its money is spent by then. A lease lasts at least 5 minutes.
    On each pool a person may have 40 leases ahead, and all people together 200.

    Exit code 0: granted, or open already. 1: refused, with the reason. With --wait, 1 also means that the GPUs are
    not proven: the lease stays, and the lab tries again until it ends.

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
    if wait and wanted.opens is not None:
        raise BadInput("--wait: waits for an opening now, leave it out with 'at'")
    order = _order(deployed, wanted, owner, add=add)
    decision = orders.give(deployed, order)
    lease_id = decision.lease or decision.about
    lease = deployed.ledger.lease(order.pool, lease_id) if lease_id else None
    granted = decision.outcome in ("granted", "already-open")
    if granted and wait and lease is not None:
        lease = _wait(deployed, lease)
        granted = lease.state is LeaseState.OPEN
        if not granted:
            printing.say_on_stderr(f"the GPUs are not proven: {_why_not(deployed, lease)}")
    _answer(deployed, decision, lease, as_json=as_json)
    raise typer.Exit(0 if granted else 1)


def _order(deployed: Deployment, wanted: OpenWords, owner: str | None, *, add: bool) -> Command:
    order = orders.order(deployed, Verb.OPEN, deployed.pool(wanted.pool))
    order = replace(order, owner=owner or order.owner, for_lab=owner not in {None, order.by})
    return opening(order, wanted, deployed.lab.guard.default_lease, add=add)


def _wait(deployed: Deployment, lease: Lease) -> Lease:
    """Wait until the lease is open and its checks are done, or it is announced as degraded, or it is over."""
    waiting = (LeaseState.ADMITTED, LeaseState.OPENING)
    shown_until: datetime = deployed.now
    clock = partial(printing.local, zone=deployed.zone)
    while lease.state in waiting and not _degraded(deployed, lease):
        for entry in deployed.ledger.audit(lease.pool, shown_until):
            if entry.at > shown_until and entry.lease in (None, lease.id):
                printing.say_on_stderr(f"{clock(entry.at)}  {draw(entry.what, ENGLISH, clock)}")
                shown_until = entry.at
        sleep(WAIT_POLL_SECONDS)
        lease = deployed.ledger.lease(lease.pool, lease.id) or lease
    return lease


def _degraded(deployed: Deployment, lease: Lease) -> Entry | None:
    """The last announcement of the lease, where it says that the pool opened degraded."""
    announcements = [
        entry
        for entry in deployed.ledger.audit(lease.pool, lease.opens)
        if entry.lease == lease.id and entry.details.get("notice") in ("open", "degraded")
    ]
    last = announcements[-1] if announcements else None
    return last if last and last.details["notice"] == "degraded" else None


def _why_not(deployed: Deployment, lease: Lease) -> str:
    announcement = _degraded(deployed, lease)
    if announcement:
        return printing.drawn(announcement.why, deployed.zone)
    return f"{printing.drawn(lease.called(), deployed.zone)} is {lease.state.value}"


def _answer(deployed: Deployment, decision: Decision, lease: Lease | None, *, as_json: bool) -> None:
    earliest = decision.earliest
    changes.answer(
        deployed,
        decision,
        as_json=as_json,
        document={
            "lease": document(lease, deployed.zone) if lease else None,
            "earliest": written(earliest) if earliest else None,
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
