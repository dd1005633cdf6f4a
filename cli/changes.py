"""Gives a person's change of the lab to its workflow and prints the answer; shared by the verbs that do so."""

from dataclasses import replace
from datetime import date as day
from datetime import datetime, timedelta

import typer

from cli import orders, printing
from cli.deployment import Deployment
from lamplighter.domain.commands import WHOLE_LAB, Verb
from lamplighter.errors import BadInput


def give(
    found: Deployment,
    verb: Verb,
    *,
    pool: str = WHOLE_LAB,
    lease: str | None = None,
    window: str | None = None,
    date: str | None = None,
    closes: datetime | None = None,
    lasting: timedelta | None = None,
    because: str | None = None,
    as_json: bool = False,
) -> None:
    """Ask for a change, print what came of it, and end: exit code 0, or 1 where it was refused."""
    order = replace(
        orders.order(found, verb, pool),
        lease=lease,
        window=window,
        date=date,
        closes=closes,
        lasting=lasting,
        because=because,
    )
    decision = orders.give(found, order)
    if as_json:
        printing.as_json({"outcome": decision.outcome, "reason": decision.reason})
    else:
        printing.say(f"{decision.outcome}: {decision.reason}")
    raise typer.Exit(1 if decision.outcome == "refused" else 0)


def date_and_reason(words: list[str]) -> tuple[str | None, str | None]:
    """`[DATE] [because TEXT]`; BadInput for any other word."""
    if not words or words[0].lower() == "because":
        return None, reason(words)
    try:
        date = day.fromisoformat(words[0]).isoformat()
    except ValueError:
        raise BadInput(f"'{words[0][:80]}' is no date; write it like 2026-12-01") from None
    return date, reason(words[1:])


def reason(words: list[str]) -> str | None:
    """`[because TEXT]`; BadInput for any other word."""
    if not words:
        return None
    if words[0].lower() != "because":
        raise BadInput(f"'{words[0][:80]}' was not expected; the word before a reason is because")
    if not words[1:]:
        raise BadInput("nothing follows 'because'; write the reason after it")
    return " ".join(words[1:])
