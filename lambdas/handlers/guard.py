"""The guard function: a sweep every five minutes and on AWS's events, and two steps of CloseLab.

A queue hands over events about instances in batches, with one sweep for each. An event only starts a sweep. The sweep
reads everything itself and believes nothing that the event says.
EC2 warns of every Spot Instance of the account: one that no pool has starts no sweep.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING
from uuid import uuid4

from handlers import at_init
from lamplighter.adapters.aws.capacity.claims import Claims
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.adapters.aws.dead_letters import DeadLetters
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.heartbeat import Heartbeat
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application import logs
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.application.guard.proof import mark_leaked, prove_zero
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.single_nodes import is_of_others
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.application.leases.services import lease_services
from lamplighter.application.notices import telling
from lamplighter.application.run import step_of

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection

STEPS = {"ProveZero": prove_zero, "MarkLeaked": mark_leaked}


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: a step of CloseLab (`{"step", "run"}`), or an event of any other kind, which starts a sweep."""
    logs.begin(event, context)
    guard_services = _guard_services()
    guard_services.begin()
    guard_services.invocation = str(getattr(context, "aws_request_id", None) or uuid4())
    if is_of_others(event, guard_services):
        return {"breaches": []}
    if "step" not in event:
        return sweep_all(guard_services)
    step, run = step_of(event, STEPS)
    done = step(run, guard_services)
    logs.done(event, done)
    return done


@cache
def _guard_services() -> GuardServices:
    """The guard's dependencies for the lab of this function."""
    return GuardServices(
        lease_services=lease_services(),
        workflows=Workflows(),
        pages=telling.pages(),
        notices=telling.notices(),
        heartbeat=partial(Heartbeat(ENVIRONMENT.swept_topic).beat, "every pool was judged"),
        dead_letters=lambda: _dead_letters().count(),
        claims=Claims(ENVIRONMENT.cluster_name),
        instances=cache(Instances),
        reservations=cache(Reservations),
        close_lab=ENVIRONMENT.close_lab,
        open_lab=ENVIRONMENT.open_lab,
        experiment=ENVIRONMENT.experiment_workflow,
        connect=_connect,
        wake_planner=lambda: Functions().start(ENVIRONMENT.planner, {"source": "guard"}),
        give_back=lambda pool: Functions().start(
            ENVIRONMENT.cluster_function, {"step": "GiveBack", "run": {"command": {"pool": pool}}}
        ),
    )


@cache
def _dead_letters() -> DeadLetters:
    return DeadLetters(ENVIRONMENT.dead_letters_url)


@cache
def _connect() -> "Connection":
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415 -- only where it matters

    return connect(ENVIRONMENT.cluster_name)


def _connected() -> None:
    """Connect before the first event: each sweep reads instances."""
    _guard_services().capacity.connect()


at_init.make(_connected)
