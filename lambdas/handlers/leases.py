"""The leases function: grants, extends and settles leases, keeps people's changes, and keeps the failsafe armed."""

from collections.abc import Callable, Mapping

from handlers import at_init
from lamplighter.application import logs
from lamplighter.application.leases.changes import change
from lamplighter.application.leases.closing import disarm, receipt, restore_experiments, settle
from lamplighter.application.leases.extending import extend
from lamplighter.application.leases.granting import admit, arm_failsafe
from lamplighter.application.leases.handing_on import hand_on
from lamplighter.application.leases.moving import fall_back
from lamplighter.application.leases.services import LeaseServices, lease_services
from lamplighter.application.run import step_of

STEPS: Mapping[str, Callable[[Mapping[str, object], LeaseServices], dict[str, object]]] = {
    "Admit": admit,
    "ArmFailsafe": arm_failsafe,
    "FallBack": fall_back,
    "HandOn": hand_on,
    "Extend": extend,
    "Change": change,
    "RestoreExperiments": restore_experiments,
    "Settle": settle,
    "Disarm": disarm,
    "Receipt": receipt,
}


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: `{"step", "run"}` from the workflows, of ArmFailsafe and HandOn also `execution`, its ARN."""
    logs.begin(event, context)
    step, run = step_of(event, STEPS)
    done = step({**run, "execution": event.get("execution")}, lease_services())
    logs.done(event, done)
    return done


at_init.make(lease_services)
