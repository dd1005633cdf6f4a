"""What a person reads before an experiment: what changes, what to expect, how long, what else breaks, and for whom.

The same words for the command line and for Slack; whether it may run now is admission.py's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.experiments.admission import ExperimentDecision
from lamplighter.domain.experiments.catalogue import Experiment
from lamplighter.domain.experiments.run import MARGIN
from lamplighter.domain.leases.lease import Lease
from lamplighter.values import instant
from lamplighter.values.counted import write_duration


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """One experiment as it would run now."""

    experiment: Experiment
    answer: ExperimentDecision
    """Granted, or refused with what would be right."""
    affected: Sequence[Lease] = ()

    def to_json(self) -> dict[str, object]:
        experiment, run = self.experiment, self.answer.run
        return {
            "experiment": experiment.name,
            "hypothesis": experiment.hypothesis,
            "changes": list(experiment.changes),
            "expected": {"cause": experiment.cause, "symptom": experiment.symptom},
            "seconds": int(experiment.lasts.total_seconds()),
            "nodes": experiment.needs_nodes,
            "breaks": list(experiment.breaks),
            "affected": [lease.id for lease in self.affected],
            "possible": self.answer.outcome == "granted",
            "reason": self.answer.reason,
            "lease": run.lease if run else None,
            "undone_by": instant.written(run.ends) if run else None,
        }

    def lines(self, clock: Callable[[datetime], str]) -> list[str]:
        """As a person reads it."""
        experiment, run = self.experiment, self.answer.run
        lines = [experiment.name, f"  hypothesis  {experiment.hypothesis}"]
        lines += _listed("changes", experiment.changes)
        lines += [f"  expected    {experiment.symptom}", f"              Cause: {experiment.cause}."]
        lines += _listed("breaks", experiment.breaks)
        if self.affected:
            others = " and ".join(f"{lease.called()} on pool {lease.pool}" for lease in self.affected)
            lines.append(f"  felt by     {others}")
        length = f"at most {write_duration(experiment.lasts)}, undone {write_duration(MARGIN)} ahead of the lease's end"
        lines.append(f"  lasts       {length}")
        if run is not None:
            lines.append(f"  undone by   {clock(run.ends)}, inside lease {run.lease}")
        else:
            lines.append(f"  not now     {instant.told_by(clock, self.answer.reason)}")
        return lines


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title if not at else '':<12}{line}" for at, line in enumerate(lines)]
