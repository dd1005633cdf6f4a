"""`lamplighter status`: each pool now: its nodes, until when, for whom, its failsafe, and the next window."""

from functools import partial
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, OnePool
from cli.understand import status_watch
from cli.understand.cost_tables import summary
from cli.understand.drawn import EXPERIMENTAL
from cli.understand.status_gpus import show
from cli.understand.status_outside import outside
from cli.understand.verdicts import VERDICTS
from cli.use.leases import document
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.application.views.pools import with_sizes
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.errors import BadInput
from lamplighter.values.instant import written


def command(
    pool: OnePool = None,
    gpus: Annotated[
        bool, typer.Option("--gpus", help="Show the last GPU checks of each node, and the trend.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show every change, until you press Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="With --watch: seconds between two reads.")
    ] = 2.0,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show each pool: the nodes that it has and the nodes that its leases ask for.

    \b
    Examples:
      lamplighter status
      lamplighter status gpu --json
      lamplighter status --gpus
      lamplighter status --watch
    """
    if watch and (gpus or as_json):
        raise BadInput(f"--watch: is for a terminal, leave out {'--gpus' if gpus else '--json'}")
    deployed = deployment.find(lab_name)
    if watch:
        status_watch.watch(deployed, partial(views_of, deployed, pool), interval)
        return
    if gpus:
        show(deployed, pool, as_json=as_json)
        return
    reading = ViewReading(deployed.ledger, deployed.lab, deployed.now)
    views = with_sizes(deployed.lab, reading, deployed.pools(pool))
    pause = printing.drawn(reading.pause.reason(), deployed.zone) if reading.pause else None
    if as_json:
        printing.as_json(
            {
                "lab": deployed.name,
                "region": deployed.lab.region,
                "now": written(deployed.now),
                "budget": reading.spending.to_json(),
                "paused": pause,
                "pools": [_document(view, deployed.zone) for view in views],
                "outside": [
                    {
                        "of": entry.details.get("subject", ""),
                        "at": written(entry.at),
                        "reason": printing.drawn(entry.why, deployed.zone),
                    }
                    for entry in outside(deployed.ledger, deployed.lab, deployed.now)
                ],
            }
        )
        return
    printing.say(f"{deployed.name} in {deployed.lab.region}, {printing.local(deployed.now, deployed.zone)}")
    printing.say(f"{summary(reading.spending, deployed.zone)}.")
    if pause is not None:
        printing.say(f"PAUSED: {pause}")
    printing.table(
        ["pool", "state", "nodes", "GPUs", "seats", "until", "owner", "failsafe", "next window"],
        [
            [
                view.name,
                _state(view),
                f"{view.desired} of {view.target.nodes}",
                _gpus(view, deployed),
                str(view.seats or "-"),
                printing.local(view.until, deployed.zone),
                ", ".join(view.owners) or "-",
                printing.local(view.state.failsafe_at, deployed.zone),
                _next(view, deployed),
            ]
            for view in views
        ],
    )
    for view in views:
        _tell(view, deployed.zone)
    for entry in outside(deployed.ledger, deployed.lab, deployed.now):
        at = printing.local(entry.at, deployed.zone)
        printing.say(f"OUTSIDE THE POOLS: at {at} {printing.drawn(entry.why, deployed.zone)}")


def _tell(view: PoolView, zone: ZoneInfo) -> None:
    """What a person must know of a pool beside its row."""
    if view.state.leaked_since is not None:
        since = printing.local(view.state.leaked_since, zone)
        printing.say(f"LEAKED: pool {view.name} since {since}: {printing.drawn(view.leaked, zone)}")
    if view.experimental:
        printing.say(f"pool {view.name}: {EXPERIMENTAL}")
    if view.mode == "watch":
        printing.say(
            f"WATCHING: the guard reports nodes of pool {view.name} that no lease justifies, and leaves them; "
            f"`lamplighter arm {view.name}` lets it close them"
        )
    for lease in view.leases:
        if lease.no_node_yet is not None:
            printing.say(f"pool {view.name}: {printing.drawn(lease.no_node_yet, zone)}")
    for unmet in view.unmet:
        printing.say(f"pool {view.name}: {unmet.reason_by(partial(printing.local, zone=zone))}")


def views_of(deployed: Deployment, pool: str | None) -> list[PoolView]:
    """The named pool, or every pool, read again from the ledger and EKS."""
    reading = ViewReading(deployed.ledger, deployed.lab, deployed.now)
    return with_sizes(deployed.lab, reading, deployed.pools(pool))


def _gpus(view: PoolView, deployed: Deployment) -> str:
    """Ready, or when the first GPUs are expected. A failed or missing proof comes first."""
    if not view.leases:
        return "-"
    if view.verdict in {Outcome.FAILED, Outcome.NOT_PROVEN}:
        return VERDICTS[view.verdict.value]
    if any(lease.ready for lease in view.leases):
        return "ready" if view.seen is None else f"ready, {view.gpus_free} of {view.seen.of} free"
    first = min(filter(None, (lease.gpus_expected for lease in view.leases)), default=None)
    return f"expected {printing.local(first, deployed.zone)}" if first else "-"


def _state(view: PoolView) -> str:
    """The phase, and the progress while the pool is opening."""
    opening = [lease for lease in view.leases if lease.ready is None]
    if view.phase is not Phase.OPENING or not opening:
        return view.phase.value
    return f"{view.phase.value} {min(lease.bar for lease in opening):.0%}"


def _next(view: PoolView, deployed: Deployment) -> str:
    if view.next is None:
        return "-"
    opens = f"{view.next.window or view.next.id} {printing.local(view.next.opens, deployed.zone)}"
    gpus = view.next.gpus_expected
    return f"{opens}, GPUs {gpus.astimezone(deployed.zone):%H:%M}" if gpus else opens


def _lease(lease: LeaseView, zone: ZoneInfo) -> dict[str, object]:
    return {**document(lease, zone), **lease.to_json()}


def _document(view: PoolView, zone: ZoneInfo) -> dict[str, object]:
    return {
        "pool": view.name,
        "state": view.phase.value,
        "desired": view.desired,
        "target": view.target.nodes,
        "reason": printing.drawn(view.target.reason, zone),
        "until": written(view.until) if view.until else None,
        "failsafe": written(view.state.failsafe_at) if view.state.failsafe_at else None,
        "leaked": printing.drawn(view.leaked, zone) or None,
        "gpus": view.verdict.value if view.verdict else None,
        "gpus_free": view.gpus_free,
        "gpus_in_use": view.gpus_in_use,
        "gpus_seen_at": written(view.seen_at) if view.seen_at else None,
        "seats": view.seats.to_json() if view.seats else None,
        "leases": [_lease(lease, zone) for lease in view.leases],
        "closing": [_lease(lease, zone) for lease in view.closing],
        "next": _lease(view.next, zone) if view.next else None,
        "without_lease": [unmet.to_json() for unmet in view.unmet],
        "mode": view.mode,
    }
