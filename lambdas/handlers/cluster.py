"""The function that speaks to Kubernetes for the workflows: settings, readiness, GPU checks, drain.

Decides nothing itself: it reads which step is asked for and hands it the run, the lab and a connection.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from handlers.environment import ENVIRONMENT, as_kept, lab
from lamplighter.errors import BadInput

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection

STEPS = ("ApplyGpuSettings", "AwaitGpus", "Validate", "Drain", "AtStake", "GiveBack", "Empty")


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """`{"step": NAME, "run": {...}}` -> that step's result."""
    del context
    # Behind the handler: a refused event pays for none of it, and the first real one only once.
    from handlers.cluster_apply import apply_gpu_settings  # noqa: PLC0415
    from handlers.cluster_at_stake import at_stake  # noqa: PLC0415
    from handlers.cluster_consequence import empty  # noqa: PLC0415
    from handlers.cluster_drain import drain  # noqa: PLC0415
    from handlers.cluster_lending import give_back_settings  # noqa: PLC0415
    from handlers.cluster_run import Run  # noqa: PLC0415
    from handlers.cluster_settings import await_gpus  # noqa: PLC0415
    from handlers.cluster_validate import validate  # noqa: PLC0415
    from lamplighter.adapters.aws.ledger import Ledger  # noqa: PLC0415

    step = event.get("step")
    found_for = (apply_gpu_settings, await_gpus, validate, drain, at_stake, give_back_settings, empty)
    steps = dict(zip(STEPS, found_for, strict=True))
    found = steps.get(str(step))
    if found is None:
        raise BadInput(f"step: this function has no step {step!r}, it has {', '.join(STEPS)}")
    run = event.get("run")
    as_found = as_kept(lab(), Ledger(ENVIRONMENT.ledger_table))
    return found(Run.read(run if isinstance(run, Mapping) else {}), as_found, _connection())


@cache
def _connection() -> "Connection":
    """One connection for the life of this worker."""
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415

    return connect(ENVIRONMENT.cluster_name)
