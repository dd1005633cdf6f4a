"""`lamplighter events`: puts requests on the lab's bus, shows its events, prints their schemas."""

import typer

from cli.events import put, schema, tail

HELP = """Put requests on the lab's event bus, and show its events.

\b
Examples:
  lamplighter events put open --pool gpu --for 3h --wait
  lamplighter events tail --since 1h
  lamplighter events schema pool-open
"""
app = typer.Typer(help=HELP, no_args_is_help=True)
app.add_typer(put.app, name="put")
app.command("tail")(tail.command)
app.command("schema")(schema.command)
