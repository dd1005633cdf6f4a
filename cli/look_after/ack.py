"""`lamplighter ack`: silences the pages about a leaked pool for a while, never the closing."""

from typing import Annotated

import typer

from cli import deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName
from cli.use import changes
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import open_words
from lamplighter.errors import BadInput


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[POOL] [for D|until T] [because TEXT]",
            help="Left out: for twelve hours, the most there is.",
            autocompletion=known_names.pools,
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Say that you have seen a leaked pool: nobody is paged again until then. It is closed on all the same.

    Exit code 0: silenced. 1: refused, with the reason.

    \b
    Examples:
      lamplighter ack gpu
      lamplighter ack gpu for 2h because the case with AWS is open
      lamplighter ack gpu until 08:00
    """
    found = deployment.find(lab_name)
    if words and words[0].lower() not in {"for", "until", "because"}:
        found.pool(words[0])
    said = open_words(list(words or []), list(found.lab.pools), found.now, found.zone)
    if said.opens is not None or said.nodes is not None:
        raise BadInput("the words of ack are [POOL] [for D|until T] [because TEXT]")
    changes.give(
        found,
        Verb.ACK,
        pool=found.pool(said.pool),
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
        as_json=as_json,
    )
