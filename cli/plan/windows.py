"""`lamplighter windows`: the windows of the next 36 hours, leases granted ahead, skips and pauses, with the reasons."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import AsJson, LabName, OnePool
from lamplighter.adapters.aws.kept_courses import warm_up
from lamplighter.domain.calendar.changes import Pause, Skip, paused_at
from lamplighter.domain.doctor.readiness import Readiness
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.warm_up import gpus_expected
from lamplighter.domain.schedules.of_leases import opens_at, unopened
from lamplighter.errors import BadInput
from lamplighter.reasons.fields import SHOWN, to_document
from lamplighter.values.instant import written


def command(
    pool: OnePool = None,
    as_json: AsJson = False,
    ics: Annotated[
        str | None,
        typer.Option("--ics", metavar="OUT", help="Write the next 8 weeks as iCalendar here; - is stdout."),
    ] = None,
    free: Annotated[
        str | None,
        typer.Option("--free", metavar="DURATION", help="Show instead when a pool is free for so long."),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", min=1, help="With --free: nodes; default: 1.")
    ] = None,
    seats: Annotated[
        int | None,
        typer.Option("--seats", metavar="N", min=1, help="With --free: seats, in place of --nodes."),
    ] = None,
    begins: Annotated[
        str | None,
        typer.Option("--from", metavar="T", help="With --free: RFC 3339 with an offset; default: now."),
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option("--to", metavar="T", help="With --free: the end of the range; default: a week later."),
    ] = None,
    lab_name: LabName = None,
) -> None:
    """Show the windows of the next 36 hours, leases granted ahead, and what people skipped or paused.

    With --free it shows when a lease would be granted, as far as leases, windows, pauses, the curfew and the budget
    tell now. Capacity in AWS is not asked.

    \b
    Examples:
      lamplighter windows
      lamplighter windows --free 2h --nodes 2
      lamplighter windows gpu --json
      lamplighter windows --ics gpu-windows.ics
    """
    if free is not None:
        if ics is not None:
            raise BadInput("--free: shows free times and --ics writes a calendar, keep one of the two")
        from cli.use import free_times  # noqa: PLC0415 - the whole plan is worked out only here

        free_times.show(free, nodes, seats, begins, ends, pool, lab_name, as_json=as_json)
        return
    if ics is not None and as_json:
        raise BadInput("--ics: writes a calendar and --json a document, keep one of the two")
    if ics is not None:
        from cli.plan import windows_ics  # noqa: PLC0415 - the whole plan is worked out only here

        windows_ics.write(ics, pool, lab_name)
        return
    given = {"--nodes": nodes, "--seats": seats, "--from": begins, "--to": ends}
    alone = next((option for option, value in given.items() if value is not None), None)
    if alone is not None:
        raise BadInput(f"{alone}: says what --free looks for, write --free and a length such as 2h")
    found = deployment.find(lab_name)
    pools = found.pools(pool)
    pauses = found.ledger.pauses()
    known = {name: found.ledger.leases(name) for name in pools}
    gpus = _Gpus(found, known)
    ready = found.ledger.readinesses() if found.lab.guard.look_again else {}
    leases = [lease for of_pool in known.values() for lease in of_pool if _is_window(lease, found.now)]
    skips = [skip for skip in found.ledger.skips() if _is_ahead(skip, found) and _pool(skip, found) in pools]
    shown: list[Lease | Skip] = sorted([*leases, *skips], key=partial(_place, found))
    if as_json:
        printing.as_json(
            [
                _skipped(each, found)
                if isinstance(each, Skip)
                else _document(each, _paused(each, pauses, found), gpus.at(each), found)
                | {"readiness": _checked(ready.get(each.id), each)}
                for each in shown
            ]
        )
        return
    pause = paused_at(pauses, found.now)
    if pause is not None:
        printing.say(f"PAUSED: {printing.drawn(pause.reason(), found.zone)}")
    if not shown:
        printing.say("No window opens in the next 36 hours.")
        return
    printing.table(
        ["window", "date", "pool", "nodes", "owner", "state", "opens", "GPUs", "closes", "why"],
        [
            _skip_row(each, found) if isinstance(each, Skip) else _row(each, pauses, found, gpus, ready)
            for each in shown
        ],
    )


def _is_window(lease: Lease, now: datetime) -> bool:
    """Whether it is a window that is not over, or a lease that was granted ahead."""
    if lease.state is LeaseState.CLOSED:
        return False
    return lease.window is not None or lease.opens > now


def _is_ahead(skip: Skip, found: Deployment) -> bool:
    """Whether a skip is ahead; its date is in the zone of its window, so one day more is shown."""
    return date.fromisoformat(skip.date) >= found.now.astimezone(found.zone).date() - timedelta(days=1)


def _place(found: Deployment, each: Lease | Skip) -> tuple[str, str, str]:
    """Sort by date, then by opening; skipped windows are first on their date."""
    if isinstance(each, Skip):
        return each.date, "", each.window
    return _date(each, found), written(each.opens), each.id


def _date(lease: Lease, found: Deployment) -> str:
    return lease.date or f"{lease.opens.astimezone(found.zone):%Y-%m-%d}"


def _pool(skip: Skip, found: Deployment) -> str | None:
    window = next((each for each in found.lab.windows if each.name == skip.window), None)
    return found.lab.pool_of(window) if window else None


class _Gpus:
    """When GPUs are expected of each lease; a pool's receipts are read once."""

    def __init__(self, found: Deployment, known: Mapping[str, Sequence[Lease]]) -> None:
        self._known = known
        self._taking = {pool: warm_up(pool, found.ledger) for pool, leases in known.items() if leases}

    def at(self, lease: Lease) -> datetime | None:
        return gpus_expected(lease, self._known[lease.pool], self._taking[lease.pool])


def _row(
    lease: Lease,
    pauses: Sequence[Pause],
    found: Deployment,
    gpus: _Gpus,
    ready: Mapping[str, Readiness],
) -> list[str]:
    paused = _paused(lease, pauses, found)
    return [
        lease.window or lease.id,
        _date(lease, found),
        lease.pool,
        str(lease.nodes),
        lease.owner,
        lease.state.value,
        printing.local(lease.opens, found.zone),
        printing.local(None if paused else gpus.at(lease), found.zone),
        printing.local(lease.closes, found.zone),
        "; ".join(filter(None, (_why(lease, paused, found), _last_check(ready.get(lease.id), lease, found)))),
    ]


def _skip_row(skip: Skip, found: Deployment) -> list[str]:
    reason = printing.drawn(skip.reason(), found.zone)
    return [skip.window, skip.date, _pool(skip, found) or "", "", "", "skipped", "-", "-", "-", reason]


def _why(lease: Lease, paused: str | None, found: Deployment) -> str:
    if paused:
        return paused
    if lease.refusal:
        return f"will not open: {printing.drawn(lease.refusal, found.zone)}"
    if lease.window is None and lease.by:
        return f"by {lease.by}{f' because {lease.because}' if lease.because else ''}"
    return printing.drawn(lease.because, found.zone)


def _last_check(readiness: Readiness | None, lease: Lease, found: Deployment) -> str:
    """What the last check before a window found, while it is ahead."""
    return printing.drawn(readiness.said, found.zone) if readiness and unopened(lease) else ""


def _checked(readiness: Readiness | None, lease: Lease) -> dict[str, object] | None:
    """The same for programs."""
    if readiness is None or not unopened(lease):
        return None
    findings = [to_document(finding, SHOWN) for finding in readiness.findings]
    at, unread = written(readiness.at), list(readiness.unread)
    return {"grade": readiness.grade.value, "at": at, "findings": findings, "not_known": unread}


def _paused(lease: Lease, pauses: Sequence[Pause], found: Deployment) -> str | None:
    """How a pause changes a lease that has not opened yet."""
    if not unopened(lease):
        return None
    opens = opens_at(lease, pauses, found.now)
    if opens == lease.opens:
        return None
    pause = paused_at(pauses, max(lease.opens, found.now))
    if opens is not None:
        late = printing.local(opens, found.zone)
        return f"opens late, {late}, when the pause by {pause.by if pause else 'a person'} ends"
    reason = printing.drawn(pause.reason(), found.zone) if pause else "the lab is paused"
    return f"does not open: {reason}"


def _document(
    lease: Lease, paused: str | None, gpus: datetime | None, found: Deployment
) -> dict[str, object]:
    return {
        "window": lease.window,
        "date": lease.date,
        "pool": lease.pool,
        "nodes": lease.nodes,
        "owner": lease.owner,
        "by": lease.by,
        "state": lease.state.value,
        "opens": written(lease.opens),
        "gpus_expected": written(gpus) if gpus else None,
        "closes": written(lease.closes),
        "lease": lease.id,
        "reason": printing.drawn(lease.refusal or lease.because, found.zone) or None,
        "paused": paused,
    }


def _skipped(skip: Skip, found: Deployment) -> dict[str, object]:
    return {
        "window": skip.window,
        "date": skip.date,
        "pool": _pool(skip, found),
        "by": skip.by,
        "state": "skipped",
        "at": written(skip.at),
        "reason": skip.because,
    }
