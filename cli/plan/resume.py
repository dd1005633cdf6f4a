"""`lamplighter resume`: ends a pause; windows that should be open now open late."""

from typing import Annotated

import typer

from cli import deployment
from cli.options import AsJson, LabName
from cli.use import changes
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import reason_given


def command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[because TEXT]", help="Why, for those who read it later.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Resume a paused lab: pools open again, and windows that should be open now open late.

    \b
    Examples:
      lamplighter resume
      lamplighter resume because the driver is fine
    """
    found = deployment.find(lab_name)
    because = reason_given(list(words or []))
    changes.give(found, Verb.RESUME, because=because, as_json=as_json)
