"""`lamplighter simulate`: what the planner and the guard would do with a lab over a range of time."""

import gc
from functools import partial
from typing import Annotated

import typer

from cli import printing
from cli.files import write_document
from cli.instants import instant
from cli.options import LabName
from cli.plan import courses
from lamplighter.domain.planner.simulation import simulate
from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from lamplighter.values import zones


def command(
    begins: Annotated[
        str | None, typer.Option("--from", metavar="T", help="Begin of the range, RFC 3339 with an offset.")
    ] = None,
    ends: Annotated[
        str | None, typer.Option("--to", metavar="T", help="End of the range, exclusive.")
    ] = None,
    lab: Annotated[str, typer.Option("--lab", metavar="FILE", help="The lab file to simulate.")] = "lab.yaml",
    out: Annotated[
        str | None, typer.Option("--json", metavar="OUT", help="Write the JSON document here; - is stdout.")
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Simulate the deployed lab with its ledger; default: from now, for a week."
        ),
    ] = False,
    lab_name: LabName = None,
) -> None:
    """Show which windows would open between two instants, which would not and why, and what it costs.

    Nothing is spent and no lease runs before; AWS is not asked. With --live AWS is asked: the deployed lab is
    simulated with its skips, pauses, leases granted ahead, and the money that is held and spent. It also says of each
    window whether AWS will probably have its nodes, and by what evidence.

    \b
    Examples:
      lamplighter simulate --live
      lamplighter simulate --from 2026-03-01T00:00:00+09:00 --to 2026-04-01T00:00:00+09:00
      lamplighter simulate --lab evening.yaml --from 2026-01-01T00:00:00Z --to 2027-01-01T00:00:00Z --json year.json
      lamplighter simulate --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z --json - | jq .cost
    """
    if live:
        from cli.plan import simulate_live  # noqa: PLC0415 - AWS is asked only here

        simulate_live.show(begins, ends, lab_name, out)
        return
    if begins is None or ends is None:
        missing = "--from" if begins is None else "--to"
        raise BadInput(
            f"{missing}: is missing, write an instant with an offset such as 2026-03-01T00:00:00+09:00"
        )
    begin, end = instant("--from", begins), instant("--to", ends)
    if begin >= end:
        raise BadInput(f"--to: {ends} is not after --from {begins}, write a later instant")
    played = labfile.load(lab)
    _answerable(played, lab)
    # A year of many windows is a million small values without garbage: collecting it would take half the time.
    gc.disable()
    simulation = simulate(played, begin, end, courses.of(played))
    if out is not None:
        write_document(simulation.to_json(partial(printing.drawn, zone=zones.zone(played.time_zone))), out)
        if out == "-":
            return
    from cli.plan import simulation_month, simulation_table  # noqa: PLC0415 - rich is slow, and JSON needs none of it

    simulation_table.show(played, simulation)
    simulation_month.show(played, simulation)


def _answerable(lab: Lab, file: str) -> None:
    """An adopted pool with windows needs in the lab the values that would otherwise be read from AWS."""
    missing: list[tuple[str, str, str]] = []
    for pool in dict.fromkeys(lab.pool_of(window) for window in lab.windows):
        if not lab.pools[pool].max_nodes:
            missing.append(("pools", pool, "max_nodes"))
        if lab.pools[pool].price_per_hour is None and not lab.pools[pool].instance_type:
            missing.append(("pools", pool, "price_per_hour"))
    if missing:
        text = "is left to AWS, write it to simulate"
        raise BadInput("\n".join(str(labfile.problem(file, path, text)) for path in missing))
