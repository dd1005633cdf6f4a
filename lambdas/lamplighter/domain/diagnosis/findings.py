"""What a diagnosis says: findings with their evidence, and stages that are in progress.

Owns their shape and order: root before consequence, AWS before Kubernetes before NVIDIA.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from lamplighter.domain.capacity.available import Available
from lamplighter.domain.diagnosis.causes import CAUSES, Cause
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.reasons.shortened import shortened
from lamplighter.values import instant

SHOWN_OBJECTS = 5
SHOWN_EVIDENCE = 10
LONGEST_EVIDENCE = 400


@dataclass(frozen=True)
class DiagnosisFinding:
    """One cause, the objects that have it, the evidence, and what to do."""

    cause: Cause
    objects: tuple[str, ...]
    evidence: tuple[Said, ...]
    """Words of outside systems, and reasons where a rule itself concludes."""
    special_advice: Reason | None = None
    """What to do in this case, where it is not what the cause says."""
    available: Available | None = None
    """Of a refused launch: the zones and types that AWS names as available."""

    @property
    def advice(self) -> Reason:
        """What to do."""
        return self.special_advice or self.cause.advice

    @property
    def about(self) -> Said:
        """The objects by name: the first five, and the number of the others."""
        shown = ", ".join(self.objects[:SHOWN_OBJECTS])
        more = len(self.objects) - SHOWN_OBJECTS
        return reason("finding.objects", objects=shown, more=more) if more > 0 else shown

    @property
    def summary(self) -> Reason:
        """The objects and their cause in one sentence."""
        return reason("finding.summary", object=self.about, cause=self.cause.summary)

    def to_json(self) -> dict[str, object]:
        """As the contract has it, in English."""
        return {
            "cause": self.cause.name,
            "layer": self.cause.layer,
            "object": str(self.about),
            "summary": str(self.summary),
            "evidence": [str(line) for line in self.evidence[:SHOWN_EVIDENCE]],
            "advice": str(self.advice),
            **({"available": self.available.to_json()} if self.available else {}),
        }


@dataclass(frozen=True)
class InProgress:
    """A stage within its normal time."""

    stage: ProvisioningStage
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
    """The whole answer. Both parts are empty only where everything expected is there and healthy."""

    findings: tuple[DiagnosisFinding, ...]
    in_progress: tuple[InProgress, ...]

    def to_json(self) -> dict[str, list[dict[str, object]]]:
        """As the contract has it, in English."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "in_progress": [stage.to_json() for stage in self.in_progress],
        }


@dataclass
class Gathered:
    """What the rules have found so far: one finding a cause, with every object that has it."""

    objects: dict[str, list[str]] = field(default_factory=dict)
    evidence: dict[str, dict[Hashable, Said]] = field(default_factory=dict)
    """By cause; each line once, under what makes it differ from the others."""
    in_progress: list[InProgress] = field(default_factory=list)
    explained: set[str] = field(default_factory=set)
    """Nodes whose state has a finding already; what else is wrong on them follows from it."""
    mentioned: set[str] = field(default_factory=set)
    """Pods that a finding about another object mentions, such as one about their node."""
    unclear: list[Said] = field(default_factory=list)
    """What is not as expected and has no known cause."""
    lacking: list[str] = field(default_factory=list)
    """Keys of the snapshot that would explain more and were not read."""
    advice: dict[str, Reason] = field(default_factory=dict)
    """By cause, where a rule knows better than the cause."""
    available: dict[str, Available] = field(default_factory=dict)
    """By cause of a refused launch: what AWS names as available."""

    def found(self, cause: str, about: str, *evidence: Said, advice: Reason | None = None) -> None:
        """A rule holds for an object. Empty evidence is left out."""
        if advice is not None:
            self.advice[cause] = advice
        objects = self.objects.setdefault(cause, [])
        if about not in objects:
            objects.append(about)
        lines = self.evidence.setdefault(cause, {})
        for words in evidence:
            if line := shortened(words, LONGEST_EVIDENCE):
                lines.setdefault(_identity(line), line)

    def progress(self, stage: ProvisioningStage, about: str, since: datetime) -> None:
        """A stage of an object is under way."""
        self.in_progress.append(InProgress(stage, about, since))

    def unknown(self, symptom: Said, lacking: Iterable[str] = ()) -> None:
        """Something is wrong and no rule knows the cause; `lacking` keys of the snapshot might tell it."""
        self.unclear.append(symptom)
        self.lacking += [key for key in lacking if key not in self.lacking]

    @property
    def supply_disturbed(self) -> bool:
        """Whether GPUs are missing for a reason that is known or under way: pods that wait follow from it."""
        waiting = {
            ProvisioningStage.LAUNCH,
            ProvisioningStage.JOIN,
            ProvisioningStage.READY,
            ProvisioningStage.GPUS,
        }
        return bool(
            self.explained or self.unclear or any(stage.stage in waiting for stage in self.in_progress)
        ) or any(CAUSES[cause].takes_supply for cause in self.objects)

    def diagnosis(self, pool: str) -> Diagnosis:
        """All findings in order, those without a known cause last."""
        if self.unclear:
            missing = (
                [reason("finding.evidence.not-read", keys=", ".join(self.lacking))] if self.lacking else []
            )
            self.found("unknown", pool, *self.unclear, *missing)
        findings = [
            DiagnosisFinding(
                cause,
                tuple(self.objects[name]),
                tuple(self.evidence.get(name, {}).values()),
                self.advice.get(name),
                self.available.get(name),
            )
            for name, cause in CAUSES.items()
            if name in self.objects
        ]
        return Diagnosis(tuple(findings), tuple(self.in_progress))


def _identity(line: Said) -> Hashable:
    """What makes a line of evidence differ from the others. The hash of a reason itself leaves its values out."""
    if isinstance(line, Reason):
        return (line.code, *line.values.values())
    return line.sentences if isinstance(line, Sentences) else line
