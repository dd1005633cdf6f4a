"""The reference page of the experiments, from their catalogue: the changes, symptoms and effects of each."""

from lamplighter.domain.experiments.admission import PROOF
from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment
from lamplighter.domain.experiments.rails import AFTER_END
from lamplighter.domain.experiments.run import MARGIN
from lamplighter.values.counted import counted, write_duration

HEAD = f"""# The experiments

Generated from the catalogue by `make docs`. See [how to run one](../../how-to/run/run-an-experiment.md).
The causes are those of `lamplighter diagnose`.

The lease's owner or an admin of the lab runs an experiment inside an open lease, one at a time in a cluster. The
lease must have the experiment's time left, and {write_duration(MARGIN)} more. Lamplighter undoes every change in
several ways:

- The workflow undoes it at the end, and after any failure.
- Schedules undo it {write_duration(AFTER_END)} after the end and {write_duration(MARGIN)} before the lease's end.
- Lamplighter undoes it before it closes or shortens a lease.
- The guard's next sweep undoes it if all of these failed.

The checks that prove the undo have {write_duration(PROOF)}.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(experiment) for experiment in CATALOGUE.values())


def _section(experiment: Experiment) -> str:
    rows = [
        ("hypothesis", str(experiment.hypothesis)),
        ("changes", " ".join(map(str, experiment.changes))),
        ("expected cause", f"`{experiment.cause}`"),
        ("expected symptom", str(experiment.symptom)),
        ("does not work meanwhile", " ".join(map(str, experiment.breaks))),
        ("lasts", f"{write_duration(experiment.lasts)} at most"),
        ("needs", counted(experiment.needs_nodes, "node")),
        ("affects", "every lease of the cluster" if experiment.changes_cluster else "only its own lease"),
    ]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    return f"\n## {experiment.name}\n\n| | |\n|---|---|\n{table}\n"
