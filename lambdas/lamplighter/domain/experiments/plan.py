"""The plan of an experiment: what changes, what to expect, how long it takes, what else breaks, and for which leases.

The command line and Slack show the same text. admission.py decides whether it may run now.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.experiments.admission import ExperimentDecision
from lamplighter.domain.experiments.catalogue import Experiment
from lamplighter.domain.experiments.run import MARGIN
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Clock, Said, draw, reason
from lamplighter.values import instant


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """One experiment as it would run now."""

    experiment: Experiment
    answer: ExperimentDecision
    """Granted, or refused with the reason."""
    affected: Sequence[Lease] = ()

    def to_json(self) -> dict[str, object]:
        experiment, run = self.experiment, self.answer.run
        return {
            "experiment": experiment.name,
            "hypothesis": str(experiment.hypothesis),
            "changes": list(map(str, experiment.changes)),
            "expected": {"cause": experiment.cause, "symptom": str(experiment.symptom)},
            "seconds": int(experiment.lasts.total_seconds()),
            "nodes": experiment.needs_nodes,
            "breaks": list(map(str, experiment.breaks)),
            "affected": [lease.id for lease in self.affected],
            "possible": self.answer.outcome == "granted",
            "reason": str(self.answer.reason),
            "lease": run.lease if run else None,
            "undone_by": instant.written(run.ends) if run else None,
        }

    def lines(self, clock: Clock, texts: Texts = ENGLISH) -> list[str]:
        """The plan as lines of text."""
        experiment, run = self.experiment, self.answer.run

        def drawn(said: Said) -> str:
            return draw(said, texts, clock)

        def part(title: Said, *said: Said) -> list[str]:
            return [f"  {'' if at else drawn(title):<12}{drawn(each)}" for at, each in enumerate(said)]

        lines = [experiment.name]
        lines += part(reason("experiment.plan.hypothesis"), experiment.hypothesis)
        lines += part(reason("experiment.plan.changes"), *experiment.changes)
        cause = reason("experiment.plan.cause", cause=experiment.cause)
        lines += part(reason("experiment.plan.expected"), experiment.symptom, cause)
        lines += part(reason("experiment.plan.breaks"), *experiment.breaks)
        if self.affected:
            others = tuple(
                reason("lease.on-pool", lease=lease.called(), pool=lease.pool) for lease in self.affected
            )
            lines += part(reason("experiment.plan.felt-by"), reason("words.detail", detail=others))
        length = reason("experiment.plan.length", length=experiment.lasts, margin=MARGIN)
        lines += part(reason("experiment.plan.lasts"), length)
        if run is not None:
            inside = reason("experiment.plan.inside", until=run.ends, lease=run.lease)
            return lines + part(reason("experiment.plan.undone-by"), inside)
        return lines + part(reason("experiment.plan.not-now"), self.answer.reason)
