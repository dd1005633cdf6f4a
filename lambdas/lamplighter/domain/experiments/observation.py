"""Compares the observation of an experiment with its expected cause; the diagnosis decides.

application/experiments/observe.py makes the observation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.experiments.catalogue import Experiment
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import Said
from lamplighter.values import instant

Row = Mapping[str, object]


@dataclass(frozen=True)
class Observation:
    """One observation: verdicts as rows (`check`, `node`, `verdict`, `reason`), and what is still waited for."""

    verdicts: Sequence[dict[str, object]]
    waiting: Sequence[Said] = ()
    ended: datetime | None = None
    """When the last check ended, where the checks end by themselves."""


def causes(diagnosis: Mapping[str, object]) -> list[str]:
    """The causes that a diagnosis names, root cause first."""
    return [str(finding.get("cause")) for finding in rows(diagnosis.get("findings"))]


def seen(
    experiment: Experiment, verdicts: Sequence[Row], diagnosis: Mapping[str, object], at: datetime
) -> dict[str, object]:
    """The observation, as the run keeps it."""
    named = causes(diagnosis)
    expected = experiment.cause in named
    return {
        "at": instant.written(at),
        "as_expected": expected,
        "cause": experiment.cause if expected else next(iter(named), None),
        "findings": [dict(finding) for finding in rows(diagnosis.get("findings"))],
        "verdicts": [dict(verdict) for verdict in verdicts],
    }


def proof(verdicts: Sequence[Row], at: datetime, why_not: Said | None = None) -> dict[str, object]:
    """The checks after the restore, as the run keeps them; passed only where there are checks and all passed."""
    outcomes = {str(each.get("verdict")) for each in verdicts}
    if "failed" in outcomes:
        verdict = "failed"
    else:
        verdict = "passed" if outcomes == {"passed"} and why_not is None else "not-proven"
    return {
        "at": instant.written(at),
        "verdict": verdict,
        "reason": None if why_not is None else document(why_not),
        "verdicts": [dict(each) for each in verdicts],
    }


def rows(found: object) -> list[Row]:
    """The documents of a list."""
    if isinstance(found, str) or not isinstance(found, Sequence):
        return []
    return [each for each in found if isinstance(each, Mapping)]
