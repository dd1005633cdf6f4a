"""`lamplighter why`: explains the nodes of a pool, now or at a past instant, by the decisions in the audit trail."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, printing
from cli.options import AsJson, LabName, PoolName
from lamplighter.application.views.why import REACHES_BACK, explained
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.why import Explanation
from lamplighter.domain.views.told import FindingView
from lamplighter.errors import BadInput
from lamplighter.reasons.fields import to_document
from lamplighter.reasons.reason import Clock, draw
from lamplighter.values import instant
from lamplighter.values.counted import counted

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
"""No lab is that old."""


def command(
    pool: PoolName = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="T", help="A past instant, with its offset; default: now.")
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Explain why a pool has its nodes.

    \b
    Examples:
      lamplighter why
      lamplighter why gpu --at 2026-12-01T20:10:00+09:00
    """
    asked = _instant(at)
    deployed = deployment.find(lab_name)
    name = deployed.pool(pool)
    when = asked or deployed.now
    if when > deployed.now:
        raise BadInput(
            f"--at: {at} is in the future, name a past instant; "
            "`lamplighter windows` and `lamplighter simulate --live` show what is planned"
        )
    clock = partial(printing.local, zone=deployed.zone)
    explanation = explained(deployed.lab, deployed.ledger, name, when, deployed.now)
    if as_json:
        printing.as_json({"pool": name, **document(explanation, clock)})
        return
    _print(deployed.zone, name, explanation)


def document(explanation: Explanation, clock: Clock) -> dict[str, object]:
    """The document of `why --json`, in English; its sentences write instants by this clock."""
    decision = explanation.decision
    return {
        "at": instant.written(explanation.at),
        "nodes": explanation.nodes,
        "reason": explanation.target.reason_by(clock),
        "decision": None if decision is None else _entry(decision, clock),
        "trail": [_entry(entry, clock) for entry in explanation.trail],
        "without_lease": [unmet.to_json(clock) for unmet in explanation.unmet],
        "findings": [_finding(FindingView.read(entry), clock) for entry in explanation.findings],
    }


def _entry(entry: Entry, clock: Clock) -> dict[str, object]:
    drawn = replace(entry, what=draw(entry.what, ENGLISH, clock), why=draw(entry.why, ENGLISH, clock))
    return to_document(drawn, names=("at", "kind", "who", "what", "why", "lease", "nodes"))


def _finding(finding: FindingView, clock: Clock) -> dict[str, object]:
    summary, advice = draw(finding.summary, ENGLISH, clock), draw(finding.advice, ENGLISH, clock)
    drawn = replace(finding, summary=summary, advice=advice)
    return to_document(drawn, names=("at", "cause", "summary", "advice"))


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = instant.read(text)
    except BadInput as error:
        raise BadInput(f"--at: {error}") from None
    if at < EARLIEST:
        raise BadInput(f"--at: {text} is before the first lab existed, name a later instant")
    return at


def _print(zone: ZoneInfo, name: str, explanation: Explanation) -> None:
    clock = partial(printing.local, zone=zone)
    reason = explanation.target.reason_by(clock)
    said = [f"{clock(explanation.at)}: {name} should have {counted(explanation.nodes, 'node')}: {reason}."]
    said += [f"By the calendar {unmet.reason_by(clock)}." for unmet in explanation.unmet]
    for line in filter(None, [*said, draw(explanation.last_decision, ENGLISH, clock)]):
        printing.say(line)
    for entry in explanation.findings:
        finding = FindingView.read(entry)
        summary, advice = (draw(said, ENGLISH, clock) for said in (finding.summary, finding.advice))
        printing.say(f"Finding of {clock(entry.at)}: {summary} ({finding.cause}).")
        printing.say(f"  → {advice}")
    if not explanation.trail:
        printing.say(f"Nothing happened to this pool in the {REACHES_BACK.days} days before.")
        return
    printing.table(
        ["at", "who", "what", "why"],
        [
            [clock(entry.at), entry.who, draw(entry.what, ENGLISH, clock), draw(entry.why, ENGLISH, clock)]
            for entry in explanation.trail
        ],
    )
