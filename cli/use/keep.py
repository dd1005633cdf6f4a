"""`lamplighter keep`: keeps a lease that is to be closed because nobody uses its GPUs."""

from typing import Annotated

import typer

from cli import deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName
from cli.use import changes, meant
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import reason_given


def command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[POOL|LEASE]",
            help="The pool, or one lease by its id.",
            autocompletion=known_names.pools_or_leases,
        ),
    ] = None,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[because TEXT]", help="For the audit trail.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Keep a lease until its end though no pod holds a GPU. It ends then as usual.

    Exit code 0: kept, or it was before. 1: refused, with the reason.

    \b
    Examples:
      lamplighter keep
      lamplighter keep cli-1a2b3c4d because the data is still coming
    """
    found = deployment.find(lab_name)
    because = reason_given(list(words or []))
    lease = meant.lease(found, what, "keep")
    changes.give(found, Verb.KEEP, pool=lease.pool, lease=lease, because=because, as_json=as_json)
