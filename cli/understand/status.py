"""`lamplighter status`: each pool now: nodes, until when, for whom, the failsafe, and what comes next."""

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.look_after import known_names
from cli.options import AsJson, LabName
from cli.understand import status_watch
from cli.understand.cost_account import DeployedAccount
from cli.understand.cost_tables import summary
from cli.understand.status_gpus import SAID, show
from cli.use.leases import document
from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.domain.calendar.changes import paused_at
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.views.lab_view import PoolView
from lamplighter.domain.views.lease_view import LeaseView
from lamplighter.errors import BadInput
from lamplighter.values.instant import written


def command(
    pool: Annotated[
        str | None, typer.Argument(metavar="[POOL]", help="Only this pool.", autocompletion=known_names.pools)
    ] = None,
    gpus: Annotated[
        bool, typer.Option("--gpus", help="What was last proven of each node's GPUs, and the trend.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on showing it as it changes, until interrupted.")
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", help="With --watch: how often to look.")
    ] = 2.0,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show what each pool is doing, and what it should be doing.

    \b
    Examples:
      lamplighter status
      lamplighter status gpu --json
      lamplighter status --gpus
      lamplighter status --watch
    """
    if watch and (gpus or as_json):
        raise BadInput(f"--watch: draws for people, leave out {'--gpus' if gpus else '--json'}")
    found = deployment.find(lab_name)
    if watch:
        status_watch.watch(found, partial(views_of, found, pool), interval)
        return
    if gpus:
        show(found, pool, as_json=as_json)
        return
    views = views_of(found, pool)
    pause = paused_at(found.ledger.pauses(), found.now)
    account = DeployedAccount(found)
    if as_json:
        printing.as_json(
            {
                "lab": found.name,
                "region": found.lab.region,
                "now": written(found.now),
                "budget": _money(account),
                "paused": printing.drawn(pause.reason(), found.zone) if pause else None,
                "pools": [_document(view) for view in views],
            }
        )
        return
    printing.say(f"{found.name} in {found.lab.region}, {printing.local(found.now, found.zone)}")
    printing.say(f"{summary(account)}.")
    if pause is not None:
        printing.say(f"PAUSED: {printing.drawn(pause.reason(), found.zone)}")
    printing.table(
        ["pool", "state", "nodes", "GPUs", "seats", "until", "owner", "failsafe", "next window"],
        [
            [
                view.name,
                _state(view),
                f"{view.desired} of {view.target.nodes}",
                _gpus(view, found),
                str(view.seats or "-"),
                printing.local(view.until, found.zone),
                ", ".join(view.owners) or "-",
                printing.local(view.state.failsafe_at, found.zone),
                _next(view, found),
            ]
            for view in views
        ],
    )
    for view in views:
        if view.state.leaked_since is not None:
            since = printing.local(view.state.leaked_since, found.zone)
            printing.say(f"LEAKED: pool {view.name} since {since}: {view.leaked}")
        if view.mode == "watch":
            printing.say(
                f"WATCHING: on pool {view.name} what has no lease is said, not closed; "
                f"`lamplighter arm {view.name}` closes it"
            )
        for unmet in view.unmet:
            printing.say(f"pool {view.name}: {unmet.reason_by(partial(printing.local, zone=found.zone))}")


def views_of(found: Deployment, pool: str | None) -> list[PoolView]:
    """What is said of each pool that was asked for, from the ledger and from EKS."""
    reading = ViewReading(found.ledger, found.lab, found.now)
    groups = NodeGroups(found.lab.cluster_name)
    views = []
    for name in found.pools(pool):
        group = groups.read(found.lab.nodegroup_name(name))
        views.append(replace(reading.pool(name), desired=group.desired if group else 0))
    return views


def _gpus(view: PoolView, found: Deployment) -> str:
    """Ready, or when the first of what runs is expected to be; never so where checks say otherwise."""
    if not view.leases:
        return "-"
    if view.verdict in {Outcome.FAILED, Outcome.NOT_PROVEN}:
        return SAID[view.verdict.value]
    if any(lease.ready for lease in view.leases):
        return "ready" if view.seen is None else f"ready, {view.gpus_free} of {view.seen.of} free"
    first = min(filter(None, (lease.gpus_expected for lease in view.leases)), default=None)
    return f"expected {printing.local(first, found.zone)}" if first else "-"


def _state(view: PoolView) -> str:
    """What is being done with it; how far, where that is opening."""
    opening = [lease for lease in view.leases if lease.ready is None]
    if view.phase is not Phase.OPENING or not opening:
        return view.phase.value
    return f"{view.phase.value} {min(lease.bar for lease in opening):.0%}"


def _next(view: PoolView, found: Deployment) -> str:
    if view.next is None:
        return "-"
    opens = f"{view.next.window or view.next.id} {printing.local(view.next.opens, found.zone)}"
    gpus = view.next.gpus_expected
    return f"{opens}, GPUs {gpus.astimezone(found.zone):%H:%M}" if gpus else opens


def _lease(lease: LeaseView) -> dict[str, object]:
    return {**document(lease), **lease.to_json()}


def _document(view: PoolView) -> dict[str, object]:
    return {
        "pool": view.name,
        "state": view.phase.value,
        "desired": view.desired,
        "target": view.target.nodes,
        "reason": str(view.target.reason),
        "until": written(view.until) if view.until else None,
        "failsafe": written(view.state.failsafe_at) if view.state.failsafe_at else None,
        "leaked": view.leaked,
        "gpus": view.verdict.value if view.verdict else None,
        "gpus_free": view.gpus_free,
        "gpus_in_use": view.gpus_in_use,
        "gpus_seen_at": written(view.seen_at) if view.seen_at else None,
        "seats": view.seats.to_json() if view.seats else None,
        "leases": [_lease(lease) for lease in view.leases],
        "closing": [_lease(lease) for lease in view.closing],
        "next": _lease(view.next) if view.next else None,
        "without_lease": [unmet.to_json() for unmet in view.unmet],
        "mode": view.mode,
    }


def _money(account: DeployedAccount) -> dict[str, object]:
    return {
        "period": account.period.key,
        "amount": account.limit.to_json(),
        "spent": account.budget.spent.to_json(),
        "overrun": account.overrun.to_json(),
        "unleased": account.unleased.to_json(),
        "held": account.budget.held.to_json(),
        "left": (account.limit - account.budget.used).to_json(),
    }
