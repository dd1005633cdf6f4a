"""The options that several verbs share."""

from typing import Annotated

import typer

from cli.look_after import known_names

LabName = Annotated[
    str | None,
    typer.Option(
        "--lab-name",
        metavar="NAME",
        help="The lab, where the account and region have several.",
        autocompletion=known_names.labs,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before acting.")]
