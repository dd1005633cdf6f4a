"""The diagnosis function, with one step: Diagnose reads AWS and Kubernetes, and finds why a pool does not work.

It only reads. Later steps of the workflow announce and keep the findings.
"""

from collections.abc import Mapping

from handlers import at_init_kubernetes  # noqa: F401 -- every event needs it
from lamplighter.application import logs
from lamplighter.application.diagnosis.diagnosed import diagnosed
from lamplighter.application.environment import lab
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

STEP = "Diagnose"


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": "Diagnose", "run": {...}}` -> the findings in brief; none, with the reason, where nothing answers."""
    logs.begin(event, context)
    run = event.get("run")
    command = run.get("command") if isinstance(run, Mapping) else None
    pool = command.get("pool") if isinstance(command, Mapping) else None
    if event.get("step") != STEP or pool not in lab().pools:
        raise BadInput(reason("finding.step-unknown", step=STEP, pools=tuple(lab().pools)))
    return diagnosed(str(pool))
