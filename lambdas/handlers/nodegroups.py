"""The capacity steps: Scale, AwaitNodes, Replace and Release (application/capacity/steps.py).

Only this function may raise a size.
"""

from collections.abc import Mapping

from handlers import at_init
from lamplighter.application import logs
from lamplighter.application.capacity.services import CapacityServices, deployed
from lamplighter.application.capacity.steps import await_nodes, release, replace, scale
from lamplighter.application.run import step_of


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: `{"step", "run"}` from the workflows."""
    logs.begin(event, context)
    step, run = step_of(event, STEPS)
    done = step(run, deployed())
    logs.done(event, done)
    return done


def warm(_run: Mapping[str, object], _capacity: CapacityServices) -> dict[str, object]:
    """Step Warm: start this function before a run needs it. Changes nothing."""
    return {}


STEPS = {"Warm": warm, "Scale": scale, "AwaitNodes": await_nodes, "Replace": replace, "Release": release}


def _connected() -> None:
    """Make the EC2 client, which AwaitNodes needs."""
    deployed().connect()


at_init.make(_connected)
