"""The report of a run, which a student may hand in: hypothesis, change, expected, seen, evidence, restored.

It has two forms, JSON and Markdown. Its content is the run as the ledger keeps it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.experiments.policy import was
from lamplighter.domain.experiments.rails import before_rules
from lamplighter.domain.experiments.run import Document, ExperimentPhase, ExperimentRun
from lamplighter.reasons.document import drawn as drawn_document
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Clock, Said, Sentences, draw, reason
from lamplighter.values import instant
from lamplighter.values.clock_time import clock_time

LONGEST_EVIDENCE = 20


def conclusion(run: ExperimentRun) -> Said:
    """The observation compared with the expected cause, and whether the run is restored."""
    return Sentences((_outcome(run), _undone(run)))


def as_json(run: ExperimentRun) -> dict[str, object]:
    """The report as data."""
    experiment = run.experiment
    return {
        "id": run.id,
        "experiment": run.name,
        "pool": run.pool,
        "lease": run.lease,
        "by": run.by,
        "because": None if run.because is None else str(run.because),
        "phase": run.phase.value,
        "begun": instant.written(run.begun),
        "changed": _written(run.changed),
        "hypothesis": str(experiment.hypothesis),
        "change": list(map(str, run.change or experiment.changes)),
        "before": dict(run.before),
        "affected": list(run.affected),
        "expected": {"cause": experiment.cause, "symptom": str(experiment.symptom)},
        "seen": _in_english(run.seen),
        "as_expected": _as_expected(run),
        "evidence": list(map(str, _evidence(run))),
        "restored": {
            "at": _written(run.restored),
            "by": run.restored_by,
            "undone": run.undone,
            "proof": _in_english(run.proof),
        },
        "conclusion": str(conclusion(run)),
    }


def markdown(run: ExperimentRun, clock: Clock, texts: Texts = ENGLISH) -> str:
    """The report as a page; instants as `clock` writes them."""
    # A verdict or a log line that others wrote begins no line of the report.
    return "\n".join(_lines(run, lambda said: " ".join(draw(said, texts, clock).splitlines()))) + "\n"


def _lines(run: ExperimentRun, drawn: Callable[[Said], str]) -> Iterator[str]:
    experiment = run.experiment
    yield f"# {drawn(reason('experiment.report.title', name=run.name))}"
    yield ""
    yield drawn(
        reason("experiment.report.run", id=run.id, by=run.by, pool=run.pool, lease=run.lease, begun=run.begun)
    )
    if run.because:
        yield drawn(reason("experiment.report.because", because=run.because))
    yield from _part(drawn(reason("experiment.report.hypothesis")), [drawn(experiment.hypothesis)])
    changes = [drawn(each) for each in run.change or experiment.changes]
    yield from _part(drawn(reason("experiment.report.change")), _bullets(changes))
    if run.changed:
        yield ""
        before = "; ".join(drawn(each) for each in _before(run))
        yield drawn(reason("experiment.report.changed", at=run.changed, before=before))
    cause = drawn(reason("experiment.report.cause", cause=experiment.cause))
    yield from _part(drawn(reason("experiment.report.expected")), [drawn(experiment.symptom), "", cause])
    yield from _part(drawn(reason("experiment.report.seen")), [_sentence(drawn(_outcome(run)))])
    evidence = _bullets(drawn(each) for each in _evidence(run))
    nothing = drawn(reason("experiment.report.nothing-recorded"))
    yield from _part(drawn(reason("experiment.report.evidence")), evidence or [nothing])
    yield from _part(drawn(reason("experiment.report.restored")), [_sentence(drawn(_undone(run)))])
    if run.restored:
        yield drawn(_restored(run, run.restored))
    yield from _bullets(drawn(each) for each in _verdicts(run.proof))


def _part(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield f"## {title}"
    yield ""
    yield from lines


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


def _before(run: ExperimentRun) -> list[Said]:
    rules = before_rules(run.before)
    if rules:
        return [rule.said() for rule in rules]
    fields = run.before.get("policy")
    found = fields.get("fields") if isinstance(fields, Mapping) else None
    return was(found) if isinstance(found, Mapping) else [reason("experiment.nothing-changed")]


def _outcome(run: ExperimentRun) -> Said:
    if run.changed is None:
        return reason("experiment.seen.nothing-changed")
    if not run.seen:
        return reason("experiment.seen.nothing")
    cause, expected = run.seen.get("cause"), run.experiment.cause
    if _as_expected(run):
        return reason("experiment.seen.expected", cause=str(cause))
    if cause:
        return reason("experiment.seen.other", cause=str(cause), expected=expected)
    return reason("experiment.seen.no-cause", expected=expected)


def _undone(run: ExperimentRun) -> Said:
    if not run.undone:
        return reason("experiment.undone.not-yet")
    if run.phase is not ExperimentPhase.PROVEN:
        return reason("experiment.undone.checks-to-come")
    verdict = str(run.proof.get("verdict") or "not-proven")
    if verdict == "passed":
        return reason("experiment.undone.proven")
    if run.changed is None:
        return reason("experiment.undone.as-it-was")
    why = read(run.proof.get("reason"))
    if why:
        return reason("experiment.undone.verdict-because", verdict=verdict, why=why)
    return reason("experiment.undone.verdict", verdict=verdict)


def _restored(run: ExperimentRun, at: datetime) -> Said:
    by = run.restored_by or ""
    if run.changed is None:
        return reason("experiment.report.undone", at=at, by=by)
    seconds = (at - run.changed) // timedelta(seconds=1)
    return reason("experiment.report.undone-after", at=at, by=by, seconds=seconds)


def _as_expected(run: ExperimentRun) -> bool:
    return run.seen.get("as_expected") is True


def _evidence(run: ExperimentRun) -> list[Said]:
    lines = _verdicts(run.seen)
    for finding in _rows(run.seen.get("findings")):
        told, cause = finding.get("evidence"), str(finding.get("cause"))
        evidence = told if isinstance(told, Sequence) and not isinstance(told, str) else ()
        lines += [
            reason("experiment.evidence", cause=cause, line=read(line))
            for line in evidence or [finding.get("summary")]
        ]
    return lines[:LONGEST_EVIDENCE]


def _verdicts(found: Document) -> list[Said]:
    return [
        reason(
            "experiment.verdict",
            check=str(each.get("check")),
            node=str(each.get("node")),
            verdict=str(each.get("verdict")),
            why=read(each.get("reason")),
        )
        for each in _rows(found.get("verdicts"))
    ]


def _in_english(kept: Document) -> object:
    return drawn_document(kept, ENGLISH, clock_time)


def _rows(found: object) -> list[Document]:
    if isinstance(found, str) or not isinstance(found, Sequence):
        return []
    return [each for each in found if isinstance(each, Mapping)]


def _written(at: datetime | None) -> str | None:
    return None if at is None else instant.written(at)
