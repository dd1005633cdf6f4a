"""A simulation as a person reads it: windows, what is skipped and why, cost; times in the lab's zones."""

from datetime import datetime
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.table import Table

from lamplighter.domain import zones
from lamplighter.domain.simulation import Simulation
from lamplighter.lab import Lab

WIDE = 160


def show(lab: Lab, simulation: Simulation) -> None:
    """Prints the tables to stdout."""
    console = Console(soft_wrap=False, highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    home = zones.zone(lab.time_zone)
    console.print(
        f"{lab.name} from {_local(simulation.begins, home)} to {_local(simulation.ends, home)} ({home.key})",
        markup=False,
        soft_wrap=True,
    )
    for table in (_windows(lab, simulation), _skipped(simulation), _cost(simulation)):
        if table.row_count:
            console.print(table)
    if not simulation.windows:
        console.print("No window opens in this time.")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _windows(lab: Lab, simulation: Simulation) -> Table:
    table = _table("Windows", "window", "pool", "nodes", "opens", "closes", "zone", "notes")
    by_name = {window.name: window for window in lab.windows}
    for one in simulation.windows:
        where = zones.zone(lab.zone_of(by_name[one.window]))
        table.add_row(
            one.window,
            one.pool,
            str(one.nodes),
            _local(one.opens, where),
            _local(one.closes, where),
            where.key,
            "; ".join(one.notes),
        )
    return table


def _skipped(simulation: Simulation) -> Table:
    table = _table("Skipped", "window", "pool", "date", "code", "reason")
    for one in simulation.skipped:
        table.add_row(one.window, one.pool, f"{one.date:%a} {one.date}", one.code.value, one.reason)
    return table


def _cost(simulation: Simulation) -> Table:
    table = _table("Cost in this time", "pool", "node hours", "cost")
    for one in simulation.costs:
        cost = f"{one.cost.rounded():f} {one.cost.currency}"
        table.add_row(one.pool, f"{float(one.node_seconds / 3600):.2f}", cost)
    return table


def _local(at: datetime, where: ZoneInfo) -> str:
    local = at.astimezone(where)
    offset = local.strftime("%z")
    return f"{local:%a} {local:%Y-%m-%d %H:%M} {offset[:3]}:{offset[3:5]}"
