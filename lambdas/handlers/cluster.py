"""The function that speaks to Kubernetes for the workflows: settings, readiness, GPU checks, drain.

Decides nothing itself: it reads which step is asked for and hands it the run, the lab and a connection.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init_kubernetes
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.kubernetes.connection import Connection, connect
from lamplighter.application.cluster.apply import apply_gpu_settings
from lamplighter.application.cluster.at_stake import at_stake
from lamplighter.application.cluster.consequence import empty
from lamplighter.application.cluster.drain import drain
from lamplighter.application.cluster.overrides import give_back_settings
from lamplighter.application.cluster.run import Run
from lamplighter.application.cluster.settings import await_gpus
from lamplighter.application.cluster.validate import validate
from lamplighter.application.environment import ENVIRONMENT, as_kept, lab
from lamplighter.errors import BadInput

STEPS = ("ApplyGpuSettings", "AwaitGpus", "Validate", "Drain", "AtStake", "GiveBack", "Empty")


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": NAME, "run": {...}}` -> that step's result."""
    del context
    step = event.get("step")
    found_for = (apply_gpu_settings, await_gpus, validate, drain, at_stake, give_back_settings, empty)
    steps = dict(zip(STEPS, found_for, strict=True))
    found = steps.get(str(step))
    if found is None:
        raise BadInput(f"step: this function has no step {step!r}, it has {', '.join(STEPS)}")
    run = event.get("run")
    as_found = as_kept(lab(), _ledger())
    return found(Run.read(run if isinstance(run, Mapping) else {}, _ledger()), as_found, _connection())


@cache
def _ledger() -> Ledger:
    """One client for the life of this worker."""
    return Ledger(ENVIRONMENT.ledger_table)


@cache
def _connection() -> Connection:
    """One connection for the life of this worker."""
    return connect(ENVIRONMENT.cluster_name)


at_init_kubernetes.make(lab, _ledger)
