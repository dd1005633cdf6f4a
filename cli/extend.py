"""`lamplighter extend`: asks for more time on a running lease."""

from dataclasses import replace
from typing import Annotated

import typer

from cli import deployment, meant, orders, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName
from lamplighter.domain.commands import Verb
from lamplighter.domain.instant import written
from lamplighter.domain.lease import Lease
from lamplighter.domain.words import OpenWords, open_words
from lamplighter.errors import BadInput


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[POOL|LEASE] D|until T [because TEXT]", help="How much longer, or until when."
        ),
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
    order = replace(
        orders.order(found, Verb.EXTEND, lease.pool),
        owner=lease.owner,
        lease=lease.id,
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
    )
    decision = orders.give(found, order)
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
    """`[POOL|LEASE]`, then how long: a time begins with a digit, no pool and no lease does."""
    what = words[0] if words and words[0].lower() not in ("until", "for") and words[0][:1].isalpha() else None
    said = _how_long(found, words[1:] if what else words)
    return meant.lease(found, what, "extend"), said


def _how_long(found: Deployment, words: list[str]) -> OpenWords:
    if not words:
        raise BadInput("say how much longer, or until when: lamplighter extend 30m, or extend until 23:00")
    begins = words[0].lower() in ("until", "for")
    return open_words(words if begins else ["for", *words], [], found.now, found.zone)
