"""`lamplighter why`: the decision behind a pool's state, now or at a past instant, in words."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from cli import deployment, printing
from cli.look_after import known_names
from cli.options import AsJson, LabName
from lamplighter.adapters.calendars.kept import kept_courses
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.why import Explanation, explain
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.domain.views.told import FindingView
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import draw
from lamplighter.values import instant
from lamplighter.values.counted import counted

REACHES_BACK = timedelta(days=14)
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
"""No lab is as old as that."""


def command(
    pool: Annotated[
        str | None,
        typer.Argument(
            metavar="[POOL]", help="The pool; the only one by default.", autocompletion=known_names.pools
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="T", help="A past instant, with its offset; default: now.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Say why a pool has the nodes it has.

    \b
    Examples:
      lamplighter why
      lamplighter why gpu --at 2026-12-01T20:10:00+09:00
    """
    asked = _instant(at)
    found = deployment.find(lab_name)
    name = found.pool(pool)
    when = asked or found.now
    if when > found.now:
        raise BadInput(
            f"--at: {at} has not come yet, name a past instant; "
            "`lamplighter windows` and `lamplighter simulate --live` show what is planned"
        )
    clock = partial(printing.local, zone=found.zone)
    timetable = Timetable(found.lab, kept_courses(found.lab, found.ledger))
    explanation = explain(
        found.ledger.leases(name),
        # What came later tells what was not known at a past instant.
        found.ledger.audit(name, when - REACHES_BACK, found.now),
        when,
        found.lab.pools[name].max_nodes,
        windows=timetable.open_at(when).get(name, ()),
        skips=found.ledger.skips(),
    ).told_by(clock)
    if as_json:
        printing.as_json({"pool": name, **explanation.to_json(clock)})
        return
    _print(clock, name, explanation)


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        read = instant.read(text)
    except (BadInput, OverflowError) as error:
        raise BadInput(f"--at: {error}") from None
    if read < EARLIEST:
        raise BadInput(f"--at: {text} is before there was any lab, name an instant that the ledger may know")
    return read


def _print(clock: Callable[[datetime], str], name: str, explanation: Explanation) -> None:
    reason = explanation.target.reason_by(clock)
    said = [f"{clock(explanation.at)}: {name} should have {counted(explanation.nodes, 'node')}: {reason}."]
    said += [f"By the calendar {unmet.reason_by(clock)}." for unmet in explanation.unmet]
    for line in filter(None, [*said, explanation.decided_by(clock)]):
        printing.say(line)
    for entry in explanation.findings:
        finding = FindingView.read(entry)
        summary, advice = (draw(said, ENGLISH, clock) for said in (finding.summary, finding.advice))
        printing.say(f"Found at {clock(entry.at)}: {summary} ({finding.cause}).")
        printing.say(f"  → {advice}")
    if not explanation.trail:
        printing.say(f"Nothing happened to this pool in the {REACHES_BACK.days} days until then.")
        return
    printing.table(
        ["at", "who", "what", "why"],
        [[clock(entry.at), entry.who, str(entry.what), str(entry.why)] for entry in explanation.trail],
    )
