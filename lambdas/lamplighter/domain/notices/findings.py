"""The findings of a diagnosis in announcements, in the audit trail, and in receipts.

Reads the result of step Diagnose as the workflow carries it. The diagnosis itself finds the causes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.document import document, one_line, read
from lamplighter.reasons.reason import Clock, Said, Sentences, draw, reason
from lamplighter.values import instant
from lamplighter.values.clock_time import clock_time

Result = Mapping[str, object]
KIND = "finding"
SAID = 3
"""Findings in an announcement. `why` shows the rest."""


@dataclass(frozen=True)
class ReportedFinding:
    """One finding, as the workflow carries it."""

    cause: str
    layer: str
    summary: Said
    evidence: tuple[Said, ...]
    advice: Said

    @classmethod
    def read(cls, row: Result) -> Self:
        """From a row of step Diagnose. An older release wrote English sentences."""
        evidence = row.get("evidence")
        lines = evidence if isinstance(evidence, Sequence) and not isinstance(evidence, str) else ()
        return cls(
            cause=str(row.get("cause") or "unknown"),
            layer=str(row.get("layer") or ""),
            summary=read(row.get("summary")),
            evidence=tuple(read(line) for line in lines),
            advice=read(row.get("advice")),
        )


def findings(diagnose: Result) -> list[ReportedFinding]:
    """The findings of step Diagnose; none where it did not run or failed."""
    rows = diagnose.get("findings")
    return (
        [ReportedFinding.read(row) for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, Sequence)
        else []
    )


def sentences(
    diagnose: Result, said_already: str | None = None, texts: Texts = ENGLISH, clock: Clock = clock_time
) -> list[str]:
    """For an announcement: the cause and what to do. Of a cause that was announced already only what to do."""

    def drawn(said: Said) -> str:
        return _sentence(draw(said, texts, clock))

    reported = findings(diagnose)
    lines = [
        texts.say("finding.advice", advice=drawn(finding.advice))
        if finding.cause == said_already
        else texts.say(
            "finding.cause",
            cause=finding.cause,
            summary=drawn(finding.summary),
            advice=drawn(finding.advice),
        )
        for finding in reported[:SAID]
    ]
    more = len(reported) - SAID
    return [*lines, *([texts.say("finding.more", more=more)] if more > 0 else [])]


def entries(lease: Lease, diagnose: Result, now: datetime) -> list[Entry]:
    """For the audit trail: each finding with its evidence and advice, at the instant of the diagnosis."""
    at = diagnose.get("at")
    made = instant.read(str(at)) if at else now
    return [
        Entry(
            at=made,
            pool=lease.pool,
            kind=KIND,
            who="diagnosis",
            what=reason("finding.entry", cause=finding.cause, summary=finding.summary),
            why=Sentences((*finding.evidence, finding.advice)),
            lease=lease.id,
            nodes=lease.nodes,
            details={
                "cause": finding.cause,
                "layer": finding.layer,
                "summary": one_line(finding.summary),
                "advice": one_line(finding.advice),
            },
        )
        for finding in findings(diagnose)
    ]


def standing(trail: Iterable[Entry], leases: Iterable[str]) -> tuple[Entry, ...]:
    """The findings of the last diagnosis that still hold: about a lease in force that has not opened well since."""
    in_force = set(leases)
    last: tuple[Entry, ...] = ()
    for entry in sorted(trail, key=lambda entry: entry.at):
        if entry.lease not in in_force:
            continue
        if entry.kind == KIND:
            same = last and last[0].at == entry.at
            last = (*last, entry) if same else (entry,)
        elif entry.kind == "announced" and entry.details.get("notice") == "open":
            last = ()
    return last


def of_receipt(trail: Iterable[Entry], lease: str) -> list[dict[str, object]]:
    """The findings of a lease: each cause once, at the instant when it was found first."""
    first: dict[tuple[str, Said], dict[str, object]] = {}
    for entry in trail:
        if entry.kind == KIND and entry.lease == lease:
            cause, summary = entry.details.get("cause", "unknown"), summary_of(entry)
            row: dict[str, object] = {
                "at": instant.written(entry.at),
                "cause": cause,
                "summary": document(summary),
            }
            first.setdefault((cause, summary), row)
    return list(first.values())


def summary_of(entry: Entry) -> Said:
    """The summary of a finding in the trail."""
    kept = entry.details.get("summary")
    return entry.what if kept is None else read(kept)


def advice_of(entry: Entry) -> Said:
    """What to do about a finding in the trail."""
    return read(entry.details.get("advice"))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
