"""Draws a pool and its leases for a terminal, and as lines for logs and pipes.

lamplighter.domain.views decides what is shown; Slack and the pages show the same.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.text import Text

from cli import printing
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.progress import BootStage, ClaimStage, Stage
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import StageState, StageView
from lamplighter.reasons.reason import Said, draw
from lamplighter.values.counted import counted, write_seconds

EXPERIMENTAL = (
    "experimental: nobody has seen the launch bar and the lock of EKS Auto Mode on a real account yet"
)
BAR_CELLS = 30
STAGE_NAMES = {
    Stage.GPUS: "GPUs",
    BootStage.JOINED: "nodes joined",
    BootStage.READY: "nodes ready",
    BootStage.CUDA: "CUDA",
    BootStage.PLUGIN: "device plugin",
    ClaimStage.LAUNCHED: "claims launched",
    ClaimStage.REGISTERED: "claims registered",
    ClaimStage.INITIALIZED: "claims initialized",
}
SIGN = {
    StageState.DONE: "✓",
    StageState.GOING: "◐",
    StageState.WAITING: "·",
    StageState.LATE: "!",
    StageState.SHORT: "!",
    StageState.FAILED: "✗",
}
STYLE = {
    StageState.DONE: "green",
    StageState.GOING: "cyan",
    StageState.WAITING: "dim",
    StageState.LATE: "yellow",
    StageState.SHORT: "yellow",
    StageState.FAILED: "red",
}
STANDING_STYLE = {
    LeaseStanding.OPEN: "green",
    LeaseStanding.OPENING: "cyan",
    LeaseStanding.DEGRADED: "yellow",
    LeaseStanding.CLOSING: "magenta",
}


def pool_panel(view: PoolView, now: datetime, zone: ZoneInfo) -> Panel:
    """One pool in a frame: its leases with their stages, then the pool's own facts."""
    rows: list[RenderableType] = []
    for lease in (*view.leases, *view.closing):
        rows += lease_rows(lease, zone)
    if not rows:
        rows.append(Text("no lease is in force, so no node may run", style="dim"))
    rows += [Text(printing.in_line(line), style="dim") for line in _about(view, now, zone)]
    if view.leaked is not None:
        rows.append(Text(printing.in_line(f"LEAKED: {printing.drawn(view.leaked, zone)}"), style="bold red"))
    title = Text.assemble(f"pool {view.name}  ", (view.phase.value, _phase_style(view)))
    return Panel(Group(*rows), title=title, title_align="left", box=box.ROUNDED)


def lease_rows(lease: LeaseView, zone: ZoneInfo) -> list[RenderableType]:
    """The rows of one lease."""
    style = STANDING_STYLE.get(lease.standing, "")
    head = Text.assemble(
        (lease.standing.value, style or "default"),
        f"  {lease.called}: {counted(lease.nodes, 'node')} until {printing.local(lease.closes, zone)}",
        f" for {lease.owner}",
    )
    rows: list[RenderableType] = [head]
    if lease.in_force and lease.ready is None:
        rows.append(Text.assemble(*_bar(lease.bar), f" {lease.bar:4.0%}  ", *_stages(lease.stages)))
        if lease.boot:
            rows.append(Text.assemble("  ", *_stages(lease.boot, times=True)))
        under_way = [stage for stage in lease.stages if stage.begun]
        if under_way:
            rows.append(Text.assemble("  ", *_stages(under_way, times=True)))
    elif lease.in_force:
        rows.append(Text.assemble(*_stages(lease.stages)))
    rows += [Text(f"  {printing.in_line(line)}") for line in _beside(lease, zone)]
    return rows


def pool_lines(view: PoolView, zone: ZoneInfo) -> list[str]:
    """The same in lines. A value that always changes, such as a cost, is left out: every new line is a change."""
    lines = [
        f"pool {view.name} is {view.phase.value}: {_nodes(view)}"
        + ("" if view.leaked is None else f"; LEAKED: {printing.drawn(view.leaked, zone)}")
    ]
    lines += [lease_line(lease, zone) for lease in (*view.leases, *view.closing)]
    if view.gpus_free is not None and view.seen is not None:
        lines.append(f"pool {view.name}: {view.gpus_free} of {view.seen.of} GPUs free")
    if view.next is not None:
        opens = printing.local(view.next.opens, zone)
        lines.append(f"pool {view.name}: next {view.next.window or view.next.id} at {opens}")
    return lines


def lease_line(lease: LeaseView, zone: ZoneInfo) -> str:
    """One lease in a line."""
    until = f"until {printing.local(lease.closes, zone)}"
    head = f"{lease.id} is {lease.standing.value} {until}"
    if not lease.in_force:
        return head
    shown = lease.whole_warm_up if lease.ready is None else lease.stages
    stages = ", ".join(_stage_line(stage) for stage in shown)
    reason = lease.failed_because or lease.degraded_because
    return f"{head}: {stages}" + (f"; {_by(zone, reason)}" if reason else "")


def _stage_line(stage: StageView) -> str:
    shows_times = stage.begun or not isinstance(stage.stage, Stage)
    parts = [
        STAGE_NAMES.get(stage.stage, stage.stage.value),
        stage.count,
        stage.state.value,
        _times(stage) if shows_times else "",
    ]
    return " ".join(filter(None, parts))


def _stages(stages: Sequence[StageView], *, times: bool = False) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    for stage in stages:
        name = STAGE_NAMES.get(stage.stage, stage.stage.value)
        words = [SIGN[stage.state], name, stage.count, _times(stage) if times else ""]
        parts.append((f"{' '.join(filter(None, words))}  ", STYLE[stage.state]))
    return parts


def _times(stage: StageView) -> str:
    """How long the stage took, and how long it usually takes: `42s (usually 40s)`."""
    took = "" if stage.took is None else write_seconds(stage.took)
    if stage.usual is None:
        return took
    length = write_seconds(stage.usual.length)
    usual = f"(usually {length})" if stage.usual.measured else f"(up to {length} is normal)"
    return f"{took} {usual}".strip()


def _bar(fraction: float) -> list[tuple[str, str]]:
    filled = round(fraction * BAR_CELLS)
    return [("  " + "█" * filled, "cyan"), ("░" * (BAR_CELLS - filled), "dim")]


def _beside(lease: LeaseView, zone: ZoneInfo) -> list[str]:
    """More facts about a lease, one a line."""
    lines = []
    if lease.in_force and lease.ready is None and lease.gpus_expected is not None:
        lines.append(f"GPUs expected {printing.local(lease.gpus_expected, zone)}")
    if lease.verdict in {Outcome.FAILED, Outcome.NOT_PROVEN}:
        lines.append(
            "its GPUs FAILED a check" if lease.verdict is Outcome.FAILED else "its GPUs are not proven"
        )
    lines += [
        f"{STAGE_NAMES.get(stage.stage, stage.stage.value)}: {_by(zone, stage.said)}"
        for stage in lease.stages
        if stage.said
    ]
    lines += [_by(zone, reason) for reason in (lease.failed_because, lease.degraded_because) if reason]
    lines += [f"{_by(zone, finding.summary)} → {_by(zone, finding.advice)}" for finding in lease.findings]
    if lease.cost_so_far is not None:
        lines.append(f"{lease.cost_so_far} so far, {lease.hold} held")
    return lines


def _about(view: PoolView, now: datetime, zone: ZoneInfo) -> list[str]:
    """Facts about a pool beside its leases."""
    lines = [EXPERIMENTAL] if view.experimental else []
    if view.leases or view.desired:
        seats = f", {view.seats} seats" if view.seats else ""
        lines.append(f"{_nodes(view)}{seats}")
    if view.gpus_free is not None and view.seen is not None:
        lines.append(f"{view.gpus_free} of {view.seen.of} GPUs free, seen {_ago(now - view.seen.at)}")
    if view.state.failsafe_at is not None:
        lines.append(f"failsafe {printing.local(view.state.failsafe_at, zone)}")
    if view.next is not None:
        opens = printing.local(view.next.opens, zone)
        lines.append(f"next: {view.next.window or view.next.id} {opens}")
    lines += [unmet.reason_by(partial(printing.local, zone=zone)) for unmet in view.unmet]
    return lines


def _nodes(view: PoolView) -> str:
    if view.desired is None:
        return f"{counted(view.target.nodes, 'node')} justified"
    return f"{view.desired} of {counted(view.target.nodes, 'node')}"


def _ago(age: timedelta) -> str:
    minutes = age // timedelta(minutes=1)
    return f"{minutes} min ago" if minutes > 0 else "just now"


def _by(zone: ZoneInfo, said: Said) -> str:
    return draw(said, ENGLISH, partial(printing.local, zone=zone))


def _phase_style(view: PoolView) -> str:
    if view.leaked is not None:
        return "bold red"
    return {Phase.OPEN: "green", Phase.OPENING: "cyan", Phase.CLOSING: "magenta"}.get(view.phase, "dim")
