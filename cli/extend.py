"""`lamplighter extend`: asks for more time on a running lease."""

from typing import Annotated

import typer

from cli import deployment, orders, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName
from lamplighter.domain.commands import Command, Verb
from lamplighter.domain.instant import written
from lamplighter.domain.lease import Lease
from lamplighter.domain.words import OpenWords, open_words
from lamplighter.errors import BadInput, Refused


def command(
    words: Annotated[
        list[str], typer.Argument(metavar="[POOL|LEASE] D | until T", help="How much longer, or until when.")
    ],
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Extend a running lease. Exit code 0: extended. 1: refused, with the reason.

    \b
    Examples:
      lamplighter extend 30m
      lamplighter extend gpu 1h30m
      lamplighter extend until 23:00
    """
    found = deployment.find(lab_name)
    lease, said = _meant(found, list(words))
    person = orders.caller().name
    decision = orders.give(
        found,
        Command(
            id=orders.command_id(Verb.EXTEND),
            verb=Verb.EXTEND,
            pool=lease.pool,
            owner=lease.owner,
            by=person,
            source="cli",
            issued=found.now,
            expires=orders.expiry(found.now),
            lease=lease.id,
            closes=said.closes,
            lasting=said.duration,
            because=said.because,
        ),
    )
    now_until = found.ledger.lease(lease.pool, lease.id) or lease
    if as_json:
        printing.as_json(
            {
                "outcome": decision.outcome,
                "reason": decision.reason,
                "lease": lease.id,
                "closes": written(now_until.closes),
            }
        )
    else:
        printing.say(f"{decision.outcome}: {decision.reason}")
    raise typer.Exit(0 if decision.outcome == "extended" else 1)


def _meant(found: Deployment, words: list[str]) -> tuple[Lease, OpenWords]:
    running = [lease for name in found.lab.pools for lease in found.ledger.leases(name) if lease.granted]
    named = next((lease for lease in running if words and lease.id == words[0]), None)
    pool = words[0] if words and words[0] in found.lab.pools else None
    said = _how_long(found, words[1:] if named or pool else words)
    leases = [named] if named else [lease for lease in running if pool is None or lease.pool == pool]
    if not leases:
        raise Refused("there is no running lease to extend")
    if len(leases) > 1:
        names = ", ".join(f"{lease.id} ({lease.owner})" for lease in leases)
        raise BadInput(f"several leases are running: name one of {names}")
    return leases[0], said


def _how_long(found: Deployment, words: list[str]) -> OpenWords:
    if not words:
        raise BadInput("say how much longer, or until when: lamplighter extend 30m, or extend until 23:00")
    begins = words[0].lower() in ("until", "for")
    return open_words(words if begins else ["for", *words], [], found.now, found.zone)
