"""The experiments function: prepares a run, changes, observes, restores, proves it and reports.

Every step looks at the run in the ledger and may run again; restoring is what any of them may be followed by.
"""

from collections.abc import Callable, Mapping

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.application.experiments.change import change, restore
from lamplighter.application.experiments.observe import observe, prove_restored
from lamplighter.application.experiments.prepare import prepare, rearm
from lamplighter.application.experiments.report import report
from lamplighter.application.experiments.services import ExperimentServices, services
from lamplighter.application.logs import logger
from lamplighter.application.run import step_of

STEPS: Mapping[str, Callable[[Mapping[str, object], ExperimentServices], dict[str, object]]] = {
    "Prepare": prepare,
    "Change": change,
    "Observe": observe,
    "Restore": restore,
    "ProveRestored": prove_restored,
    "Report": report,
    "Rearm": rearm,
}


def handler(event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point: `{"step", "run"}` from the workflow, and from the function that ends and moves leases."""
    step, run = step_of(event, STEPS)
    done = step(run, services())
    logger().info(
        "step done",
        extra={"step": event["step"], "outcome": done.get("outcome"), "reason": done.get("reason")},
    )
    return done
