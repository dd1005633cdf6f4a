"""The diagnosis function: step Diagnose reads AWS and Kubernetes and names the causes of what is not well.

It only reads. What it finds is told, kept and shown by whoever comes after it in the workflow.
"""

from collections.abc import Mapping

from handlers import at_init_kubernetes  # noqa: F401 -- every event needs it
from lamplighter.application import logs
from lamplighter.application.diagnosis.diagnosed import diagnosed
from lamplighter.application.environment import lab
from lamplighter.errors import BadInput

STEP = "Diagnose"


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": "Diagnose", "run": {...}}` -> the findings, in brief; none, and why, where nothing answers."""
    logs.begin(event, context)
    run = event.get("run")
    command = run.get("command") if isinstance(run, Mapping) else None
    pool = command.get("pool") if isinstance(command, Mapping) else None
    if event.get("step") != STEP or pool not in lab().pools:
        raise BadInput(
            f"step: diagnosis has only the step {STEP}, for a run of one of the pools {', '.join(lab().pools)}"
        )
    return diagnosed(str(pool))
