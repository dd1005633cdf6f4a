"""`lamplighter windows --ics`: the plan as an iCalendar (RFC 5545) that any calendar program can show.

Windows that will open and granted leases, eight weeks ahead, without skipped dates.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cli import deployed, deployment, files, printing
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.planner.live import live
from lamplighter.lab.model import Lab
from lamplighter.values import zones
from lamplighter.values.counted import counted

if TYPE_CHECKING:
    from icalendar import Event

AHEAD = timedelta(weeks=8)


def write(out: str, pool: str | None, lab_name: str | None) -> None:
    """The plan of the deployed lab, to a file or, for `-`, to stdout."""
    found = deployment.find(lab_name)
    pools = found.pools(pool)
    known = deployed.look(found)
    end = found.now + AHEAD
    played = live(known, deployed.budgets(found, known, found.now, end), found.now, end, found.now)
    text = document(found.lab, [one for one in played.windows if one.pool in pools], found.now)
    if out == "-":
        printing.document(text)
    else:
        files.write("--ics", Path(out), text)


def document(lab: Lab, windows: list[PlannedWindow], now: datetime) -> str:
    """The calendar's text. An event begins at the start of its window; its description names an early opening."""
    from icalendar import Calendar  # noqa: PLC0415 -- few calls need it, and it takes its time

    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//lamplighter//windows//EN")
    calendar.add("method", "PUBLISH")
    calendar.add("x-wr-calname", f"GPU windows of {lab.name}")
    for window in windows:
        calendar.add_component(_event(lab, window, now))
    text: bytes = calendar.to_ical()
    return text.decode()


def _event(lab: Lab, window: PlannedWindow, now: datetime) -> "Event":
    from icalendar import Event  # noqa: PLC0415

    event, zone = Event(), zones.zone(lab.time_zone)
    event.add("uid", f"{window.lease}@{lab.name}.lamplighter")
    event.add("dtstamp", now.replace(microsecond=0))
    event.add("dtstart", zones.instant(window.begins))
    event.add("dtend", window.closes)
    event.add("summary", f"{window.window}: {counted(window.nodes, 'node')} of {window.pool}")
    event.add(
        "description",
        "\n".join((f"for {window.owner}", *(printing.drawn(note, zone) for note in window.notes))),
    )
    return event
