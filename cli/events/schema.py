"""`lamplighter events schema`: prints the JSON Schema of the events of a lab, without asking AWS."""

from typing import Annotated

import typer

from cli import printing
from cli.nearest import did_you_mean
from cli.reference import event_schemas
from lamplighter.errors import BadInput


def _types(incomplete: str) -> list[str]:
    return [name for name in event_schemas.names() if name.startswith(incomplete)]


def command(
    detail_type: Annotated[
        str | None,
        typer.Argument(
            metavar="[TYPE]",
            help="A detail-type; left out: every event that a lab tells.",
            autocompletion=_types,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of the detail of an event, or of every event that a lab tells.

    \b
    Examples:
      lamplighter events schema
      lamplighter events schema pool-open > pool-open.schema.json
      lamplighter events schema open
    """
    if detail_type is None:
        printing.as_json(event_schemas.lab_events())
        return
    if detail_type not in event_schemas.names():
        raise BadInput(
            f"TYPE: there is no detail-type '{detail_type[:80]}', there are {', '.join(event_schemas.names())}"
            f"{did_you_mean(detail_type, event_schemas.names())}"
        )
    printing.as_json(event_schemas.of_type(detail_type))
