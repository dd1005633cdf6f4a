"""The options that several verbs share."""

from typing import Annotated

import typer

from cli import known_names

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
PoolName = Annotated[
    str | None,
    typer.Argument(
        metavar="[POOL]", help="The pool; left out: the only one.", autocompletion=known_names.pools
    ),
]
OnePool = Annotated[
    str | None, typer.Argument(metavar="[POOL]", help="Only this pool.", autocompletion=known_names.pools)
]
Because = Annotated[list[str] | None, typer.Argument(metavar="[because TEXT]", help="For the audit trail.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before acting.")]
