"""`lamplighter skip`: takes one date of a window out of the calendar, or puts it back."""

from typing import Annotated

import typer

from cli import deployment, known_names
from cli.deployment import Deployment
from cli.options import AsJson, LabName, Yes
from cli.use import agreed, changes, meant
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import date_and_reason


def command(
    window: Annotated[
        str,
        typer.Argument(metavar="WINDOW", help="The window, by its name.", autocompletion=known_names.windows),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATE] [because TEXT]", help="Its local start date; left out: its next opening."
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put a skipped date back.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Skip a window once, after showing which opening that is; no deploy. A running lease is closed, not skipped.

    Exit code 0: skipped, or it was before. 1: refused, with the reason.

    \b
    Examples:
      lamplighter skip evening
      lamplighter skip evening 2026-12-24 because of the holiday
      lamplighter skip evening --yes
      lamplighter skip evening 2026-12-24 --undo
    """
    found = deployment.find(lab_name)
    spelled = meant.spelled(found, [window, *(words or [])]) or [window]
    name = found.window(spelled[0])
    date, because = date_and_reason(spelled[1:])
    verb = Verb.UNSKIP if undo else Verb.SKIP
    if not undo and not yes:
        agreed.agree([_plan(found, name, date)], "Skip it?", "nothing was skipped", as_json=as_json)
    changes.give(found, verb, window=name, date=date, because=because, as_json=as_json)


def _plan(found: Deployment, window: str, date: str | None) -> str:
    """The opening that would be skipped; one beyond the plan is named by its date."""
    of_window = [lease for lease in agreed.ahead(found) if lease.window == window]
    meant = [lease for lease in of_window if date in (None, lease.date)]
    if meant:
        return agreed.not_opening(meant[0], found)
    return f"would not open: window {window} {f'on {date}' if date else 'at its next opening'}"
