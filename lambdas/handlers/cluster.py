"""The function that calls Kubernetes for the workflows: GPU settings, readiness, GPU checks, drain.

It reads the name of the step, and calls it with the run, the lab and a connection.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init_kubernetes
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.application import logs
from lamplighter.application.cluster.apply import apply_gpu_settings
from lamplighter.application.cluster.at_stake import at_stake
from lamplighter.application.cluster.consequence import empty
from lamplighter.application.cluster.drain import drain
from lamplighter.application.cluster.overrides import give_back_settings
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.settings import await_gpus
from lamplighter.application.cluster.validate import validate
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.application.run import step_of

STEPS = {
    "ApplyGpuSettings": apply_gpu_settings,
    "AwaitGpus": await_gpus,
    "Validate": validate,
    "Drain": drain,
    "AtStake": at_stake,
    "GiveBack": give_back_settings,
    "Empty": empty,
}


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": NAME, "run": {...}}` -> the result of that step."""
    logs.begin(event, context)
    step, run = step_of(event, STEPS)
    done = step(Run.read(run, _ledger()), as_kept(lab(), _ledger()), _connection())
    logs.done(event, done)
    return done


@cache
def _ledger() -> Ledger:
    """The worker's one ledger client."""
    return Ledger(ENVIRONMENT.ledger_table)


@cache
def _connection() -> Connection:
    """The worker's one connection."""
    return connect(ENVIRONMENT.cluster_name)


at_init_kubernetes.make(lab, _ledger)
