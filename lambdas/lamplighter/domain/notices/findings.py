"""What a diagnosis found, told: as sentences of an announcement, as audit entries, and in a receipt.

Reads the result of step Diagnose as the workflow carries it; finding causes is diagnosis's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.values import instant

Result = Mapping[str, object]
KIND = "finding"
SAID = 3
"""Findings that an announcement tells; the rest `why` has."""


@dataclass(frozen=True)
class FindingText:
    """One finding, in words."""

    cause: str
    layer: str
    summary: str
    evidence: tuple[str, ...]
    advice: str

    @classmethod
    def read(cls, row: Result) -> Self:
        """From a finding of the contract's document."""
        evidence = row.get("evidence")
        lines = evidence if isinstance(evidence, Sequence) and not isinstance(evidence, str) else ()
        return cls(
            cause=str(row.get("cause") or "unknown"),
            layer=str(row.get("layer") or ""),
            summary=str(row.get("summary") or ""),
            evidence=tuple(str(line) for line in lines),
            advice=str(row.get("advice") or ""),
        )


def findings(diagnose: Result) -> list[FindingText]:
    """The findings of step Diagnose; none where it did not run, or failed."""
    rows = diagnose.get("findings")
    return (
        [FindingText.read(row) for row in rows if isinstance(row, Mapping)]
        if isinstance(rows, Sequence)
        else []
    )


def sentences(diagnose: Result, said_already: str | None = None, texts: Texts = ENGLISH) -> list[str]:
    """For an announcement: what it is and what to do; of a cause that is said already only what to do."""
    found = findings(diagnose)
    told = [
        texts.say("finding.advice", advice=_sentence(each.advice))
        if each.cause == said_already
        else texts.say(
            "finding.cause",
            cause=each.cause,
            summary=_sentence(each.summary),
            advice=_sentence(each.advice),
        )
        for each in found[:SAID]
    ]
    more = len(found) - SAID
    return [*told, *([texts.say("finding.more", more=more)] if more > 0 else [])]


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
            what=f"{each.cause}: {each.summary}",
            why="; ".join([*each.evidence, each.advice]),
            lease=lease.id,
            nodes=lease.nodes,
            details={
                "cause": each.cause,
                "layer": each.layer,
                "summary": each.summary,
                "advice": each.advice,
            },
        )
        for each in findings(diagnose)
    ]


def standing(trail: Iterable[Entry], leases: Iterable[str]) -> tuple[Entry, ...]:
    """The findings of the last diagnosis that still hold: of a lease in force, and not proven over since."""
    in_force = set(leases)
    last: tuple[Entry, ...] = ()
    for entry in sorted(trail, key=lambda each: each.at):
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
    first: dict[tuple[str, str], dict[str, object]] = {}
    for entry in trail:
        if entry.kind == KIND and entry.lease == lease:
            cause, summary = (
                entry.details.get("cause", "unknown"),
                entry.details.get("summary", str(entry.what)),
            )
            row: dict[str, object] = {"at": instant.written(entry.at), "cause": cause, "summary": summary}
            first.setdefault((cause, summary), row)
    return list(first.values())


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
