"""`lamplighter pause`: no pool opens for a while; open pools close as usual."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, changes, meant
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import pause_words


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[until T|for D] [because TEXT]", help="Left out: until `lamplighter resume`."
        ),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Pause the lab: nothing opens until an instant, or until somebody resumes it. Open pools close as usual.

    A window whose time is not over when the pause ends opens late. Exit code 0: paused. 1: refused.

    \b
    Examples:
      lamplighter pause
      lamplighter pause until mon 08:00 because the driver is being changed
      lamplighter pause for 2h --yes
    """
    found = deployment.find(lab_name)
    said = pause_words(meant.spelled(found, words or []), found.now, found.zone)
    if not yes:
        until = said.closes or (found.now + said.duration if said.duration else None)
        agreed.agree(_plan(found, until), "Pause?", "nothing was paused", as_json=as_json)
    changes.give(
        found,
        Verb.PAUSE,
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
        as_json=as_json,
    )


def _plan(found: Deployment, until: datetime | None) -> Iterator[str]:
    """The leases that would stay closed, as far as they are planned: the next day and a half."""
    ahead = agreed.ahead(found, until)
    yield from (agreed.not_opening(lease, found) for lease in ahead)
    if not ahead:
        yield "nothing that is planned so far would stay closed"
    yield f"and nobody could open a pool until {printing.local(until, found.zone) if until else 'it is resumed'}"
