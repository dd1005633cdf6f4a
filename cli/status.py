"""`lamplighter status`: each pool now: nodes, until when, for whom, the failsafe, and what comes next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.cost_account import Account
from cli.cost_tables import summary
from cli.deployment import Deployment
from cli.leases import document
from cli.options import AsJson, LabName
from lamplighter.adapters.aws.nodegroups import NodeGroups
from lamplighter.adapters.calendars.kept import kept_courses, warm_up
from lamplighter.domain.changes import clock_of, paused_at
from lamplighter.domain.instant import written
from lamplighter.domain.lease import Lease, LeaseState
from lamplighter.domain.pool import PoolState
from lamplighter.domain.standing import Standing, Unmet, standings
from lamplighter.domain.target import Target
from lamplighter.domain.timetable import Timetable
from lamplighter.domain.warm_up import BEFORE_ANY, gpus_expected


@dataclass(frozen=True)
class View:
    """What is said of one pool."""

    name: str
    state: PoolState
    desired: int
    target: Target
    running: tuple[Lease, ...]
    upcoming: Lease | None
    unmet: tuple[Unmet, ...]
    """Windows that are open by the calendar and have no lease in force."""
    gpus: Mapping[str, datetime | None]
    """When GPUs are ready or expected, by lease: of those that run and of the next."""

    @property
    def until(self) -> datetime | None:
        return max((lease.closes for lease in self.running), default=None)


def command(
    pool: Annotated[str | None, typer.Argument(metavar="[POOL]", help="Only this pool.")] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Show what each pool is doing, and what it should be doing.

    \b
    Examples:
      lamplighter status
      lamplighter status gpu --json
    """
    found = deployment.find(lab_name)
    views = views_of(found, pool)
    pause = paused_at(found.ledger.pauses(), found.now)
    account = Account(found)
    if as_json:
        printing.as_json(
            {
                "lab": found.name,
                "region": found.lab.region,
                "now": written(found.now),
                "budget": _money(account),
                "paused": pause.reason(clock_of(found.zone)) if pause else None,
                "pools": [{**_document(view), "mode": _mode(view, found)} for view in views],
            }
        )
        return
    printing.say(f"{found.name} in {found.lab.region}, {printing.local(found.now, found.zone)}")
    printing.say(f"{summary(account)}.")
    if pause is not None:
        printing.say(f"PAUSED: {pause.reason(clock_of(found.zone))}")
    printing.table(
        ["pool", "state", "nodes", "GPUs", "until", "owner", "failsafe", "next window"],
        [
            [
                view.name,
                view.state.phase.value,
                f"{view.desired} of {view.target.nodes}",
                _gpus(view, found),
                printing.local(view.until, found.zone),
                ", ".join(dict.fromkeys(lease.owner for lease in view.running)) or "-",
                printing.local(view.state.failsafe_at, found.zone),
                _next(view, found),
            ]
            for view in views
        ],
    )
    for view in views:
        if view.state.leaked_since is not None:
            since = printing.local(view.state.leaked_since, found.zone)
            printing.say(f"LEAKED: pool {view.name} since {since}: {view.state.leaked_because}")
        if _mode(view, found) == "watch":
            printing.say(
                f"WATCHING: on pool {view.name} what has no lease is said, not closed; "
                f"`lamplighter arm {view.name}` closes it"
            )
        for unmet in view.unmet:
            printing.say(f"pool {view.name}: {unmet.reason_by(partial(printing.local, zone=found.zone))}")


def _mode(view: View, found: Deployment) -> str:
    """What a person said last, or the lab."""
    return view.state.mode or found.lab.mode(view.name)


def views_of(found: Deployment, pool: str | None) -> list[View]:
    """What is said of each pool that was asked for, from the ledger and from EKS."""
    leases = {name: found.ledger.leases(name) for name in found.pools(pool)}
    most = {name: found.lab.pools[name].max_nodes for name in leases}
    timetable = Timetable(found.lab, kept_courses(found.lab, found.ledger))
    stands = standings(timetable, leases, most, found.now, found.ledger.skips())
    return [_view(found, name, leases[name], stands[name]) for name in leases]


def _view(found: Deployment, name: str, leases: Sequence[Lease], stands: Standing) -> View:
    state = found.ledger.pool(name)
    group = NodeGroups(found.lab.cluster_name).read(found.lab.nodegroup_name(name))
    planned = [lease for lease in leases if lease.state is LeaseState.PLANNED and lease.opens > found.now]
    upcoming = min(planned, key=lambda lease: lease.opens, default=None)
    told = [*stands.target.in_force, *([upcoming] if upcoming else [])]
    taking = warm_up(name, found.ledger) if told else BEFORE_ANY
    return View(
        name=name,
        state=state,
        desired=group.desired if group else 0,
        target=stands.target,
        running=stands.target.in_force,
        upcoming=upcoming,
        unmet=stands.unmet,
        gpus={lease.id: gpus_expected(lease, leases, taking) for lease in told},
    )


def _gpus(view: View, found: Deployment) -> str:
    """Ready, or when the first of what runs is expected to be."""
    if not view.running:
        return "-"
    if any(lease.ready for lease in view.running):
        return "ready"
    first = min(filter(None, (view.gpus[lease.id] for lease in view.running)), default=None)
    return f"expected {printing.local(first, found.zone)}" if first else "-"


def _next(view: View, found: Deployment) -> str:
    if view.upcoming is None:
        return "-"
    opens = f"{view.upcoming.window} {printing.local(view.upcoming.opens, found.zone)}"
    gpus = view.gpus[view.upcoming.id]
    return f"{opens}, GPUs {gpus.astimezone(found.zone):%H:%M}" if gpus else opens


def _lease(lease: Lease, view: View) -> dict[str, object]:
    gpus = view.gpus[lease.id]
    return {**document(lease), "gpus_expected": written(gpus) if gpus else None}


def _document(view: View) -> dict[str, object]:
    return {
        "pool": view.name,
        "state": view.state.phase.value,
        "desired": view.desired,
        "target": view.target.nodes,
        "reason": view.target.reason,
        "until": written(view.until) if view.until else None,
        "failsafe": written(view.state.failsafe_at) if view.state.failsafe_at else None,
        "leaked": view.state.leaked_because,
        "leases": [_lease(lease, view) for lease in view.running],
        "next": _lease(view.upcoming, view) if view.upcoming else None,
        "without_lease": [unmet.to_json() for unmet in view.unmet],
    }


def _money(account: Account) -> dict[str, object]:
    return {
        "period": account.period.key,
        "amount": account.limit.to_json(),
        "spent": account.budget.spent.to_json(),
        "overrun": account.overrun.to_json(),
        "unleased": account.unleased.to_json(),
        "held": account.budget.held.to_json(),
        "left": (account.limit - account.budget.used).to_json(),
    }
