"""`lamplighter ack`: stops the pages about a leaked pool for a while. The lab goes on closing the pool."""

from typing import Annotated

import typer

from cli import deployment, known_names
from cli.options import AsJson, LabName
from cli.use import changes, meant
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import CLAUSES
from lamplighter.errors import BadInput


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[POOL] [for D|until T] [because TEXT]",
            help="Left out: for twelve hours, the longest that is possible.",
            autocompletion=known_names.pools,
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Acknowledge a leaked pool: the lab pages nobody until then. It goes on closing the pool.

    Exit code 0: acknowledged. 1: refused, with the reason.

    \b
    Examples:
      lamplighter ack gpu
      lamplighter ack gpu for 2h because the case with AWS is open
      lamplighter ack gpu until 08:00
    """
    deployed = deployment.find(lab_name)
    if words and words[0].lower() not in CLAUSES:
        deployed.pool(words[0])  # ack takes no number of nodes: the first word is a pool
    wanted = meant.open_words(deployed, list(words or []))
    if wanted.opens is not None or wanted.nodes is not None:
        raise BadInput("the words of ack are [POOL] [for D|until T] [because TEXT]")
    changes.give(
        deployed,
        Verb.ACK,
        pool=deployed.pool(wanted.pool),
        closes=wanted.closes,
        lasting=wanted.duration,
        because=wanted.because,
        as_json=as_json,
    )
