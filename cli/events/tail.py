"""`lamplighter events tail`: shows what was asked and told on the lab's bus, as its functions logged it."""

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, known_names, printing
from cli.deployment import Deployment
from cli.events import reading
from cli.events.reading import SeenEvent
from cli.nearest import did_you_mean
from cli.options import LabName
from cli.reference import event_schemas
from lamplighter.clock import sleep
from lamplighter.domain.commands import body_keys
from lamplighter.domain.commands.words import duration
from lamplighter.domain.events import log_line
from lamplighter.errors import BadInput
from lamplighter.values.counted import counted, write_duration
from lamplighter.values.instant import written

POLL_SECONDS = 2
LATE = timedelta(minutes=1)
"""CloudWatch may show a line so long after a younger one."""
TYPE_WIDTH = 14


def command(
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="POOL", help="Only this pool.", autocompletion=known_names.pools),
    ] = None,
    detail_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only this detail-type, such as pool-open.")
    ] = None,
    since: Annotated[str, typer.Option("--since", metavar="D", help="How far back.")] = "1h",
    follow: Annotated[
        bool, typer.Option("--follow/--once", help="Show later events as well, until Ctrl-C.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line instead of text.")
    ] = False,
    lab_name: LabName = None,
) -> None:
    """Show the events of the lab's bus: what others asked for, and what the lab told.

    It reads the logs of two functions, so it needs logs:FilterLogEvents on them.

    \b
    Examples:
      lamplighter events tail
      lamplighter events tail --pool gpu --since 3h --json
      lamplighter events tail --type pool-open --follow
    """
    if detail_type is not None and detail_type not in event_schemas.names():
        raise BadInput(
            f"--type: there is no detail-type '{detail_type[:80]}', there are "
            f"{', '.join(event_schemas.names())}{did_you_mean(detail_type, event_schemas.names())}"
        )
    back = duration(since)
    deployed = deployment.find(lab_name)
    reading.bus(deployed)
    wanted = None if pool is None else deployed.pool(pool)
    for event in _events(deployed, deployed.now - back, follow=follow):
        if detail_type in {None, event.logged.detail_type} and _is_about(event, wanted):
            if as_json:
                printing.json_text(json.dumps(document(event), ensure_ascii=False))
            else:
                printing.say(line(event, deployed.zone))
            sys.stdout.flush()


def _events(deployed: Deployment, since: datetime, *, follow: bool) -> Iterator[SeenEvent]:
    """Each event once; with `follow` without an end."""
    shown: set[str] = set()
    while True:
        for event in reading.read(deployed, since):
            name = event.logged.event or event.line
            if name not in shown:
                shown.add(name)
                since = max(since, event.at - LATE)
                yield event
        if not follow:
            return
        sleep(POLL_SECONDS)


def _is_about(event: SeenEvent, pool: str | None) -> bool:
    """A request that names no pool may be about any."""
    return pool is None or event.logged.detail.get("pool") in (pool, None)


def document(event: SeenEvent) -> dict[str, object]:
    """The event in EventBridge's form; `time` is when a function logged it."""
    logged = event.logged
    return {
        **({"id": logged.event} if logged.event else {}),
        "time": written(event.at),
        "source": logged.source,
        "detail-type": logged.detail_type,
        "detail": dict(logged.detail),
    }


def line(event: SeenEvent, zone: ZoneInfo) -> str:
    """One line for a person."""
    logged = event.logged
    said = _asked(event) if logged.message == log_line.RECEIVED else _told(logged.detail)
    return f"{printing.local(event.at, zone)}  {logged.detail_type:<{TYPE_WIDTH}}  {said}"


def _told(detail: Mapping[str, object]) -> str:
    why = detail.get("reason")
    text = str(why.get("text", "")) if isinstance(why, Mapping) else ""
    about = [str(detail[key]) for key in ("pool", "lease") if detail.get(key)]
    reply = f" (in reply to {detail['in_reply_to']})" if detail.get("in_reply_to") else ""
    return f"{' '.join(about)}: {text}{reply}" if about else f"{text}{reply}"


def _asked(event: SeenEvent) -> str:
    """The words of a request. It was logged before the lab looked at it, so any key may have any value."""
    detail = event.logged.detail
    words = [
        *([_cut(detail["pool"])] if detail.get("pool") else []),
        *([_nodes(detail)] if detail.get("nodes") is not None else []),
        *([f"for {_length(detail)}"] if detail.get("for_seconds") is not None else []),
        *(f"{key} {_cut(detail[key])}" for key in ("until", "token", "because") if detail.get(key)),
    ]
    asked = f" asks: {' '.join(words)}" if words else " asks"
    return f"{event.logged.source}{asked} (event {event.logged.event})"


def _nodes(detail: Mapping[str, object]) -> str:
    try:
        return counted(body_keys.nodes(detail) or 0, "node")
    except BadInput:
        return f"{_cut(detail['nodes'])} nodes"


def _length(detail: Mapping[str, object]) -> str:
    try:
        return write_duration(body_keys.lasting(detail) or timedelta())
    except BadInput:
        return f"{_cut(detail['for_seconds'])} seconds"


def _cut(value: object) -> str:
    return str(value)[: body_keys.LONGEST_TEXT]
