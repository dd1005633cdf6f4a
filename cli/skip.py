"""`lamplighter skip`: takes one date of a window out of the calendar, or puts it back."""

from typing import Annotated

import typer

from cli import changes, deployment
from cli.options import AsJson, LabName
from lamplighter.domain.commands import Verb


def command(
    window: Annotated[str, typer.Argument(metavar="WINDOW", help="The window, by its name.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATE] [because TEXT]", help="Its local start date; left out: its next opening."
        ),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put a skipped date back.")] = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Skip a window once, without a deploy. What runs already is closed, not skipped.

    Exit code 0: skipped, or it was before. 1: refused, with the reason.

    \b
    Examples:
      lamplighter skip evening
      lamplighter skip evening 2026-12-24 because of the holiday
      lamplighter skip evening 2026-12-24 --undo
    """
    found = deployment.find(lab_name)
    date, because = changes.date_and_reason(list(words or []))
    verb = Verb.UNSKIP if undo else Verb.SKIP
    changes.give(found, verb, window=found.window(window), date=date, because=because, as_json=as_json)
