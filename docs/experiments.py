"""The reference page of the experiments, from their catalogue: what each changes, shows and breaks."""

from lamplighter.domain.experiments.admission import PROOF
from lamplighter.domain.experiments.catalogue import CATALOGUE, Experiment
from lamplighter.domain.experiments.rails import AFTER_END
from lamplighter.domain.experiments.run import MARGIN
from lamplighter.values.counted import counted, write_duration

HEAD = f"""# The experiments

Generated from the catalogue by `make docs`. See [how to run one](../../how-to/run/run-an-experiment.md).
The causes are those of `lamplighter diagnose`.

All of them run inside a lease that is open, one at a time a cluster, by the lease's owner or an admin of the lab. The
lease must have the experiment's time left, and {write_duration(MARGIN)} more. Whatever happens, everything is put back:

- by the workflow at the end, and after any failure;
- by schedules, {write_duration(AFTER_END)} after the end and {write_duration(MARGIN)} before the lease's;
- before a lease is closed or shortened, and by the guard's next sweep where all of these failed.

The proof that follows has {write_duration(PROOF)}.
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
        ("breaks meanwhile", " ".join(map(str, experiment.breaks))),
        ("lasts", f"{write_duration(experiment.lasts)} at most"),
        ("needs", counted(experiment.needs_nodes, "node")),
        ("felt by", "every lease of the cluster" if experiment.changes_cluster else "its own lease alone"),
    ]
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    return f"\n## {experiment.name}\n\n| | |\n|---|---|\n{table}\n"
