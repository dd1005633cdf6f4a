"""`lamplighter pause`: nothing opens for a while, whoever asks; what is open closes as usual."""

from typing import Annotated

import typer

from cli import changes, deployment
from cli.options import AsJson, LabName
from lamplighter.domain.commands import Verb
from lamplighter.domain.words import open_words
from lamplighter.errors import BadInput


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[until T|for D] [because TEXT]", help="Left out: until `lamplighter resume`."
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Pause the lab: nothing opens until an instant, or until it is resumed. What runs ends as usual.

    A window that is still running when the pause ends opens late. Exit code 0: paused. 1: refused.

    \b
    Examples:
      lamplighter pause
      lamplighter pause until mon 08:00 because the driver is being changed
      lamplighter pause for 2h
    """
    found = deployment.find(lab_name)
    if words and words[0].lower() not in {"until", "for", "because"}:
        raise BadInput(
            f"'{words[0][:80]}' was not expected: a pause begins now and is for the whole lab, "
            "the words are [until T|for D] [because TEXT]"
        )
    said = open_words(list(words or []), [], found.now, found.zone)
    if said.opens is not None:
        raise BadInput("'at' was not expected: a pause begins now")
    changes.give(
        found,
        Verb.PAUSE,
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
        as_json=as_json,
    )
