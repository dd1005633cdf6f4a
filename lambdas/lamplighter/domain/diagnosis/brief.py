"""A diagnosis as a workflow carries it: short enough for its state, complete enough to be shown and kept.

Its sentences are kept as codes with values. Readers draw them in their language.
"""

from lamplighter.domain.diagnosis.findings import Diagnosis
from lamplighter.reasons.document import document
from lamplighter.reasons.shortened import shortened

FINDINGS = 8
EVIDENCE = 3
LINE = 240
STAGES = 10


def in_brief(diagnosis: Diagnosis) -> dict[str, list[dict[str, object]]]:
    """The first findings in the contract's shape, each with its first lines of evidence."""
    return {
        "findings": [
            {
                "cause": finding.cause.name,
                "layer": finding.cause.layer,
                "object": document(finding.about),
                "summary": document(finding.summary),
                "evidence": [document(shortened(line, LINE)) for line in finding.evidence[:EVIDENCE]],
                "advice": document(finding.advice),
            }
            for finding in diagnosis.findings[:FINDINGS]
        ],
        "in_progress": [stage.to_json() for stage in diagnosis.in_progress[:STAGES]],
    }
