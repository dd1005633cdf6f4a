"""A simulation as a person reads it: windows, what is skipped and why, cost; times in the lab's zones."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from cli import printing
from lamplighter.domain.planner.simulation import Simulation, rfc3339
from lamplighter.lab.model import Lab
from lamplighter.values import zones


def show(lab: Lab, simulation: Simulation, capacity: Sequence[str] = ()) -> None:
    """Prints the tables to stdout. `capacity` says of each window whether AWS will probably have its nodes."""
    home = zones.zone(lab.time_zone)
    printing.say(
        f"{lab.name} from {_local(simulation.begins, home)} to {_local(simulation.ends, home)} ({home.key})"
    )
    if simulation.windows:
        _windows(lab, simulation, capacity)
    else:
        printing.say("No window opens in this time.")
    if simulation.skipped:
        printing.table(
            ("window", "pool", "date", "code", "reason"),
            [
                (
                    one.window,
                    one.pool,
                    f"{one.date:%a} {one.date}",
                    one.code.value,
                    printing.drawn(one.reason, home),
                )
                for one in simulation.skipped
            ],
            "Skipped",
        )
    printing.table(
        ("pool", "node hours", "cost"),
        [
            (one.pool, f"{float(one.node_seconds / 3600):.2f}", f"{one.cost.rounded():f} {one.cost.currency}")
            for one in simulation.costs
        ],
        "Cost in this time",
    )


def _windows(lab: Lab, simulation: Simulation, capacity: Sequence[str]) -> None:
    home = zones.zone(lab.time_zone)
    zone_of = {window.name: zones.zone(lab.zone_of(window)) for window in lab.windows}
    printing.table(
        (
            *("window", "pool", "nodes", "opens", "closes", "zone"),
            *(["capacity"] if capacity else []),
            "notes",
        ),
        [
            (
                one.window,
                one.pool,
                str(one.nodes),
                _local(one.opens, zone_of.get(one.window, home)),
                _local(one.closes, zone_of.get(one.window, home)),
                zone_of.get(one.window, home).key,
                *capacity[place : place + 1],
                "; ".join(printing.drawn(note, zone_of.get(one.window, home)) for note in one.notes),
            )
            for place, one in enumerate(simulation.windows)
        ],
        "Windows",
    )


@lru_cache(maxsize=10_000)
def _local(at: datetime, where: ZoneInfo) -> str:
    """`Tue 2026-03-03 20:00 +09:00`; in UTC where the zone's calendar does not reach."""
    try:
        local = at.astimezone(where)
    except OverflowError:
        return rfc3339(at)
    said = local.isoformat(" ", "seconds")
    return f"{local:%a} {said[:16]} {said[19:25]}"
