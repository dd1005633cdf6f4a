"""A diagnosis as a workflow carries it: short enough for its state, whole enough to be told and kept."""

from lamplighter.domain.diagnosis.findings import Diagnosis

FINDINGS = 8
EVIDENCE = 3
LINE = 240
STAGES = 10


def in_brief(found: Diagnosis) -> dict[str, list[dict[str, object]]]:
    """The contract's document with the first findings, each with its first lines of evidence."""
    return {
        "findings": [
            {**finding.to_json(), "evidence": [_cut(line) for line in finding.evidence[:EVIDENCE]]}
            for finding in found.findings[:FINDINGS]
        ],
        "in_progress": [stage.to_json() for stage in found.in_progress[:STAGES]],
    }


def _cut(line: str) -> str:
    return line if len(line) <= LINE else line[: LINE - 1] + "…"
