"""Calls the diagnosis function for an experiment's pool."""

from collections.abc import Mapping

from lamplighter.adapters.aws.functions import Functions
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.experiments.run import ExperimentRun

SECONDS = 90
"""Longer than the diagnosis takes; shorter than this function's time-out."""


def diagnosed(run: ExperimentRun) -> Mapping[str, object]:
    """The findings, root cause first; OutsideFailed where the function does not answer."""
    event = {"step": "Diagnose", "run": {"command": {"pool": run.pool}}}
    return Functions(patience_seconds=SECONDS).run(ENVIRONMENT.diagnosis_function, event)
