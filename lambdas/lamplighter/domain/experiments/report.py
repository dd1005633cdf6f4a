"""The report of a run, for a person to hand in: hypothesis, change, expected, seen, evidence, restored.

Owns its words and its two forms; what it says stands in the run as the ledger keeps it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.domain.experiments.policy import said
from lamplighter.domain.experiments.rails import before_rules
from lamplighter.domain.experiments.run import Document, ExperimentPhase, ExperimentRun
from lamplighter.values import instant

LONGEST_EVIDENCE = 20


def conclusion(run: ExperimentRun) -> str:
    """One sentence: what was seen against what was expected, and whether it is undone."""
    return f"{_outcome(run)}; {_undone(run)}"


def document(run: ExperimentRun) -> dict[str, object]:
    """The report as data."""
    experiment = run.experiment
    return {
        "id": run.id,
        "experiment": run.name,
        "pool": run.pool,
        "lease": run.lease,
        "by": run.by,
        "because": run.because,
        "phase": run.phase.value,
        "begun": instant.written(run.begun),
        "changed": _written(run.changed),
        "hypothesis": experiment.hypothesis,
        "change": list(run.change) or list(experiment.changes),
        "before": dict(run.before),
        "affected": list(run.affected),
        "expected": {"cause": experiment.cause, "symptom": experiment.symptom},
        "seen": dict(run.seen),
        "as_expected": _as_expected(run),
        "evidence": _evidence(run),
        "restored": {
            "at": _written(run.restored),
            "by": run.restored_by,
            "undone": run.undone,
            "proof": dict(run.proof),
        },
        "conclusion": conclusion(run),
    }


def markdown(run: ExperimentRun, clock: Callable[[datetime], str]) -> str:
    """The report as a page; instants as `clock` writes them."""
    return "\n".join(_lines(run, clock)) + "\n"


def _lines(run: ExperimentRun, clock: Callable[[datetime], str]) -> Iterator[str]:
    experiment = run.experiment
    yield f"# Experiment {run.name}"
    yield ""
    yield f"Run `{run.id}` by {run.by} on pool {run.pool}, inside lease `{run.lease}`, begun {clock(run.begun)}."
    if run.because:
        yield f"Asked for because {run.because}."
    yield from _part("Hypothesis", [experiment.hypothesis])
    yield from _part("Change", _bullets(run.change or experiment.changes))
    if run.changed:
        yield ""
        yield f"Changed {clock(run.changed)}. Before it: {_before(run)}."
    yield from _part("Expected", [experiment.symptom, "", f"Cause by the diagnosis: `{experiment.cause}`."])
    yield from _part("Seen", [f"{_outcome(run)[:1].upper()}{_outcome(run)[1:]}."])
    yield from _part("Evidence", _bullets(_evidence(run)) or ["Nothing was recorded."])
    yield from _part("Restored", [f"{_undone(run)[:1].upper()}{_undone(run)[1:]}."])
    if run.restored:
        yield f"Undone {clock(run.restored)} by {run.restored_by}{_took(run)}."
    yield from (f"- {line}" for line in _verdicts(run.proof))


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from lines


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _before(run: ExperimentRun) -> str:
    rules = before_rules(run.before)
    if rules:
        return "; ".join(map(str, rules))
    fields = run.before.get("policy")
    found = fields.get("fields") if isinstance(fields, Mapping) else None
    if isinstance(found, Mapping):
        return "; ".join(line.replace(" becomes ", " was ") for line in said(found))
    return "nothing was changed"


def _outcome(run: ExperimentRun) -> str:
    if run.changed is None:
        return "nothing was changed, so nothing was to be seen"
    if not run.seen:
        return "it was undone before anything was seen"
    cause = run.seen.get("cause")
    if _as_expected(run):
        return f"as expected: the diagnosis names {cause}"
    other = f"the diagnosis names {cause}" if cause else "the diagnosis names no cause"
    return f"not as expected: {other} where {run.experiment.cause} was expected"


def _undone(run: ExperimentRun) -> str:
    if not run.undone:
        return "it is not undone yet"
    if run.phase is not ExperimentPhase.PROVEN:
        return "everything is as it was; the checks have still to say so"
    verdict = run.proof.get("verdict")
    if verdict == "passed":
        return "everything is as it was, and the same checks pass again"
    if run.changed is None:
        return "everything is as it was"
    why = run.proof.get("reason")
    return (
        f"everything is as it was; by the checks this is {verdict or 'not-proven'}{f': {why}' if why else ''}"
    )


def _as_expected(run: ExperimentRun) -> bool:
    return run.seen.get("as_expected") is True


def _evidence(run: ExperimentRun) -> list[str]:
    lines = _verdicts(run.seen)
    for finding in _rows(run.seen.get("findings")):
        told = finding.get("evidence")
        evidence = [str(each) for each in told] if isinstance(told, Sequence) else []
        lines += [f"{finding.get('cause')}: {line}" for line in evidence or [str(finding.get("summary"))]]
    return lines[:LONGEST_EVIDENCE]


def _verdicts(found: Document) -> list[str]:
    return [
        f"{each.get('check')} on {each.get('node')}: {each.get('verdict')}, {each.get('reason')}"
        for each in _rows(found.get("verdicts"))
    ]


def _rows(found: object) -> list[Document]:
    if isinstance(found, str) or not isinstance(found, Sequence):
        return []
    return [each for each in found if isinstance(each, Mapping)]


def _took(run: ExperimentRun) -> str:
    if run.changed is None or run.restored is None:
        return ""
    return f", {(run.restored - run.changed) // timedelta(seconds=1)} seconds after the change"


def _written(at: datetime | None) -> str | None:
    return None if at is None else instant.written(at)
