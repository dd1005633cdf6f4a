"""The node-group steps: Scale writes what the leases justify, AwaitNodes sees the nodes come, Replace changes a
node whose GPUs failed for a fresh one, Release gives up for a while what does not come.

The only function that may raise a size. Which nodes a partial shrink takes was chosen by the drain.
"""

from collections.abc import Mapping

from handlers import at_init
from lamplighter.application import logs
from lamplighter.application.capacity.capacity import Capacity, deployed
from lamplighter.application.capacity.steps import await_nodes, release, replace, scale
from lamplighter.application.run import step_of


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: `{"step", "run"}` from the workflows."""
    logs.begin(event, context)
    step, run = step_of(event, STEPS)
    done = step(run, deployed())
    logs.done(event, done)
    return done


def warm(_run: Mapping[str, object], _capacity: Capacity) -> dict[str, object]:
    """Step Warm: this worker has started, and waits for a run that comes to it soon. Changes nothing."""
    return {}


STEPS = {"Warm": warm, "Scale": scale, "AwaitNodes": await_nodes, "Replace": replace, "Release": release}


def _connected() -> None:
    """AwaitNodes looks at instances."""
    deployed().instances.connect()


at_init.make(_connected)
