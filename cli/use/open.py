"""`lamplighter open`: asks for a lease, and says until when it is granted or why not."""

import sys
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName
from cli.use import orders
from cli.use.leases import document
from lamplighter.clock import sleep
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision, Verb
from lamplighter.domain.commands.orders import opening
from lamplighter.domain.commands.words import OpenWords, open_words
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
            help="What to open, in words.",
            autocompletion=known_names.pools,
        ),
    ] = None,
    add: Annotated[bool, typer.Option("--add", help="Add nodes to a pool that is open already.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the GPUs are proven, or cannot be.")
    ] = False,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="NAME", help="Who answers for it; default: you.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Open a pool, now or at a later time: ask for a lease of nodes until an instant.

    With `at` the lease is granted ahead: its money is held and it opens by itself, unless it is closed before.

    Exit code 0: granted, or open already. 1: refused, with the reason; with --wait also where the GPUs are
    not proven: the lease stays, and what is missing is tried again until it ends.

    \b
    Examples:
      lamplighter open
      lamplighter open 2 for 90m because the exam is today
      lamplighter open gpu 1 until 22:30 --wait
      lamplighter open gpu 1 --add
      lamplighter open gpu 2 at fri 20:00 for 3h because of the exam
    """
    found = deployment.find(lab_name)
    said = open_words(list(words or []), list(found.lab.pools), found.now, found.zone)
    if wait and said.opens is not None:
        raise BadInput("--wait: waits for an opening now, leave it out with 'at'")
    order = _order(found, said, owner, add=add)
    decision = orders.give(found, order)
    named = decision.lease or decision.about
    lease = found.ledger.lease(order.pool, named) if named else None
    granted = decision.outcome in ("granted", "already-open")
    if granted and wait and lease is not None:
        lease = _wait(found, lease)
        granted = lease.state is LeaseState.OPEN
        if not granted:
            sys.stderr.write(f"the GPUs are not proven: {_why_not(found, lease)}\n")
    _answer(found, decision, lease, as_json=as_json)
    raise typer.Exit(0 if granted else 1)


def _order(found: Deployment, said: OpenWords, owner: str | None, *, add: bool) -> Command:
    given = orders.order(found, Verb.OPEN, found.pool(said.pool))
    given = replace(given, owner=owner or given.owner, for_lab=owner not in {None, given.by})
    return opening(given, said, found.lab.guard.default_lease, add=add)


def _wait(found: Deployment, lease: Lease) -> Lease:
    """Until the lease is open with its checks done, or it is announced with less, or over."""
    waiting = (LeaseState.ADMITTED, LeaseState.OPENING)
    seen: datetime = found.now
    clock = partial(printing.local, zone=found.zone)
    while lease.state in waiting and not _degraded(found, lease):
        for entry in found.ledger.audit(lease.pool, seen):
            if entry.at > seen and entry.lease in (None, lease.id):
                sys.stderr.write(f"{clock(entry.at)}  {draw(entry.what, ENGLISH, clock)}\n")
                seen = entry.at
        sleep(WAIT_POLL_SECONDS)
        lease = found.ledger.lease(lease.pool, lease.id) or lease
    return lease


def _degraded(found: Deployment, lease: Lease) -> Entry | None:
    """The last announcement, where it says that the pool opened with less than was asked for."""
    said = [
        entry
        for entry in found.ledger.audit(lease.pool, lease.opens)
        if entry.lease == lease.id and entry.details.get("notice") in ("open", "degraded")
    ]
    return said[-1] if said and said[-1].details["notice"] == "degraded" else None


def _why_not(found: Deployment, lease: Lease) -> str:
    said = _degraded(found, lease)
    return printing.drawn(said.why, found.zone) if said else f"{lease.called()} is {lease.state.value}"


def _answer(found: Deployment, decision: Decision, lease: Lease | None, *, as_json: bool) -> None:
    if as_json:
        printing.as_json(
            {
                "outcome": decision.outcome,
                "reason": printing.drawn(decision.reason, found.zone),
                "lease": document(lease) if lease else None,
                "earliest": written(decision.earliest) if decision.earliest else None,
            }
        )
        return
    printing.say(f"{decision.outcome}: {printing.drawn(decision.reason, found.zone)}")
    if lease is not None:
        until = printing.local(lease.closes, found.zone)
        since = f"from {printing.local(lease.opens, found.zone)} " if lease.opens > found.now else ""
        printing.say(
            f"lease {lease.id}: {counted(lease.nodes, 'node')} on {lease.pool} {since}until {until}, "
            f"{lease.hold} held"
        )
    if decision.earliest is not None:
        printing.say(
            f"earliest instant at which it would be granted: {printing.local(decision.earliest, found.zone)}"
        )
