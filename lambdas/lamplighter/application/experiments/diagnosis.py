"""What the diagnosis says of an experiment's pool: asked of the function that may read for it."""

from collections.abc import Mapping

from lamplighter.adapters.aws.functions import Functions
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.experiments.run import ExperimentRun

SECONDS = 90
"""Longer than the diagnosis reads; shorter than this function may live."""


def diagnosed(run: ExperimentRun) -> Mapping[str, object]:
    """Its findings, root first; OutsideFailed where nobody answers."""
    event = {"step": "Diagnose", "run": {"command": {"pool": run.pool}}}
    return Functions(patience_seconds=SECONDS).run(ENVIRONMENT.diagnosis_function, event)
