"""`lamplighter arm`: shows what the guard would close on a pool now, and then lets it close; or lets it only watch."""

from collections.abc import Iterator
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, printing
from cli.options import AsJson, Because, LabName, PoolName, Yes
from cli.use import agreed, changes
from lamplighter.application.guard.preview import would_change
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.commands.words import reason_given
from lamplighter.domain.guard.breach import Breach


def command(
    pool: PoolName = None,
    words: Because = None,
    watch: Annotated[bool, typer.Option("--watch", help="Report breaches only, close nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Let the guard enforce its rules on a pool, after showing what it would close now.

    An adopted pool begins in watch mode: the guard reports breaches and changes nothing.
    Exit code 0: done, or done before. 1: not done.

    \b
    Examples:
      lamplighter arm gpu
      lamplighter arm gpu --yes because the old cron job is gone
      lamplighter arm gpu --watch
    """
    deployed = deployment.find(lab_name)
    name = deployed.pool(pool)
    because = reason_given(list(words or []))
    if not watch and not yes:
        plan = _plan(name, would_change(deployed.capacity, name, deployed.now), deployed.zone)
        must = "say --yes to enforce"
        agreed.agree(plan, f"Enforce on {name}?", "nothing was changed", as_json=as_json, must=must)
    verb = Verb.WATCH if watch else Verb.ARM
    changes.give(deployed, verb, pool=name, because=because, as_json=as_json)


def _plan(pool: str, breaches: list[Breach], zone: ZoneInfo) -> Iterator[str]:
    if not breaches:
        yield f"the guard would change nothing on pool {pool} now"
    for breach in breaches:
        yield f"would {breach.action.value}: {printing.drawn(breach.reason, zone)}"
