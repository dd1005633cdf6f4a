"""What a diagnosis says: findings with their evidence, and stages that are in progress.

Owns their shape and order: root before consequence, AWS before Kubernetes before NVIDIA.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.domain.diagnosis.causes import CAUSES, Cause
from lamplighter.domain.diagnosis.stages import Stage
from lamplighter.values import instant

SHOWN_OBJECTS = 5
SHOWN_EVIDENCE = 10
LONGEST_EVIDENCE = 400


@dataclass(frozen=True)
class Finding:
    """One cause, what it is about, what shows it, and what to do."""

    cause: Cause
    objects: tuple[str, ...]
    evidence: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        return {
            "cause": self.cause.name,
            "layer": self.cause.layer,
            "object": self.about,
            "summary": f"{self.about}: {self.cause.summary}",
            "evidence": list(self.evidence[:SHOWN_EVIDENCE]),
            "advice": self.cause.advice,
        }

    @property
    def about(self) -> str:
        """The objects by name."""
        shown = ", ".join(self.objects[:SHOWN_OBJECTS])
        more = len(self.objects) - SHOWN_OBJECTS
        return f"{shown} and {more} more" if more > 0 else shown


@dataclass(frozen=True)
class InProgress:
    """A stage within its normal time."""

    stage: Stage
    about: str
    since: datetime

    def to_json(self) -> dict[str, object]:
        """As the contract has it."""
        return {
            "stage": self.stage.label,
            "object": self.about,
            "since": instant.written(self.since.replace(microsecond=0)),
            "normal_seconds": int(self.stage.normal.total_seconds()),
        }


@dataclass(frozen=True)
class Diagnosis:
    """All that can be said; both empty only where all that was expected is there and healthy."""

    findings: tuple[Finding, ...]
    in_progress: tuple[InProgress, ...]

    def to_json(self) -> dict[str, list[dict[str, object]]]:
        """As the contract has it."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "in_progress": [stage.to_json() for stage in self.in_progress],
        }


@dataclass
class Gathered:
    """What the rules have found so far: one finding a cause, with every object it is true of."""

    objects: dict[str, list[str]] = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)
    in_progress: list[InProgress] = field(default_factory=list)
    explained: set[str] = field(default_factory=set)
    """Nodes whose state has a finding already; what else is wrong on them follows from it."""
    told: set[str] = field(default_factory=set)
    """Pods of which a finding about something else tells, such as one about their node."""
    unclear: list[str] = field(default_factory=list)
    """What is not as expected and cannot be told, as sentences."""
    lacking: list[str] = field(default_factory=list)
    """Keys of the snapshot that would tell more and were not read."""

    def found(self, cause: str, about: str, *evidence: str) -> None:
        """A rule holds for an object."""
        objects = self.objects.setdefault(cause, [])
        if about not in objects:
            objects.append(about)
        said = self.evidence.setdefault(cause, [])
        said += [line for each in evidence if (line := _one_line(each)) and line not in said]

    def progress(self, stage: Stage, about: str, since: datetime) -> None:
        """A stage of an object is under way."""
        self.in_progress.append(InProgress(stage, about, since))

    def unknown(self, sentence: str, lacking: Iterable[str] = ()) -> None:
        """Something is wrong and no rule says why; `lacking` keys of the snapshot might."""
        self.unclear.append(sentence)
        self.lacking += [key for key in lacking if key not in self.lacking]

    @property
    def supply_disturbed(self) -> bool:
        """Whether GPUs are missing for a reason that is known or under way: pods that wait follow from it."""
        waiting = {Stage.LAUNCH, Stage.JOIN, Stage.READY, Stage.GPUS}
        return bool(
            self.explained or self.unclear or any(each.stage in waiting for each in self.in_progress)
        ) or any(CAUSES[cause].takes_supply for cause in self.objects)

    def diagnosis(self, pool: str) -> Diagnosis:
        """Everything in order, what cannot be told last."""
        if self.unclear:
            missing = [f"{', '.join(self.lacking)} not read"] if self.lacking else []
            self.found("unknown", pool, *self.unclear, *missing)
        ordered = [name for name in CAUSES if name in self.objects]
        findings = [
            Finding(CAUSES[name], tuple(self.objects[name]), tuple(self.evidence.get(name, ())))
            for name in ordered
        ]
        return Diagnosis(tuple(findings), tuple(self.in_progress))


def _one_line(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= LONGEST_EVIDENCE else line[: LONGEST_EVIDENCE - 1] + "…"
