"""The findings of a diagnosis, as sentences of an announcement, as audit entries, and in a receipt.

Reads the result of step Diagnose as the workflow carries it. Finding causes is domain/diagnosis's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.document import document
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import Reason, Said, Sentences, paragraph, reason
from lamplighter.values import instant

Result = Mapping[str, object]
KIND = "finding"
MOST_TOLD = 3
"""Findings that an announcement tells. `lamplighter why` shows all."""


@dataclass(frozen=True)
class FindingText:
    """One finding, as the workflow carries it."""

    cause: str = "unknown"
    layer: str = ""
    summary: Said = ""
    evidence: tuple[Said, ...] = ()
    advice: Said = ""


def findings(diagnose: Result) -> list[FindingText]:
    """The findings of step Diagnose; none where it did not run, or failed."""
    rows = diagnose.get("findings")
    return (
        [from_odd_document(FindingText, row) for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, Sequence)
        else []
    )


def sentences(diagnose: Result, told_already: str | None = None) -> list[Said]:
    """For an announcement: each cause and what to do; of a cause that is told already, only what to do."""
    rows = findings(diagnose)
    told: list[Said] = [
        reason("finding.advice", advice=paragraph(finding.advice))
        if finding.cause == told_already
        else reason(
            "finding.cause",
            cause=finding.cause,
            summary=paragraph(finding.summary),
            advice=paragraph(finding.advice),
        )
        for finding in rows[:MOST_TOLD]
    ]
    more = len(rows) - MOST_TOLD
    return [*told, *([reason("finding.more", more=more)] if more > 0 else [])]


def entries(lease: Lease, diagnose: Result, now: datetime) -> list[Entry]:
    """For the audit trail: each finding with its evidence and its advice, as it was when it was made."""
    at = diagnose.get("at")
    made = instant.read(str(at)) if at else now
    return [
        Entry(
            at=made,
            pool=lease.pool,
            kind=KIND,
            who="diagnosis",
            what=reason("notice.finding", cause=finding.cause, summary=finding.summary),
            why=Sentences(
                (Sentences(finding.evidence), finding.advice) if finding.evidence else (finding.advice,)
            ),
            lease=lease.id,
            nodes=lease.nodes,
            details={"cause": finding.cause, "layer": finding.layer},
        )
        for finding in findings(diagnose)
    ]


def summary_of(entry: Entry) -> Said:
    """The summary of a finding in the trail; an older release kept it as a sentence among the details."""
    if "summary" in entry.details:
        return entry.details["summary"]
    what = entry.what.values.get("summary") if isinstance(entry.what, Reason) else None
    return what if isinstance(what, Reason | Sentences | str) else entry.what


def advice_of(entry: Entry) -> Said:
    """What to do about a finding in the trail; an older release kept it as a sentence among the details."""
    if "advice" in entry.details:
        return entry.details["advice"]
    return entry.why.sentences[-1] if isinstance(entry.why, Sentences) and entry.why.sentences else ""


def evidence_of(entry: Entry) -> Said | None:
    """The evidence of a finding in the trail, such as AWS's own words; None where it has none."""
    parts = entry.why.sentences if isinstance(entry.why, Sentences) else ()
    return parts[0] if len(parts) > 1 else None


def standing(trail: Iterable[Entry], leases: Iterable[str]) -> tuple[Entry, ...]:
    """The findings of the last diagnosis that still hold: of a lease in force, and not disproved since."""
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
    """What was found while the lease ran: each cause once, when it was found first."""
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
