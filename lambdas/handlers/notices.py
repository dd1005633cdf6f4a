"""The notices function: Announce says what came of a run, Warn that a lease ends soon.

Notes in the ledger that GPUs are proven, and what the checks said. A notice that cannot be sent fails
nothing: the ledger has it, and step Tell says it again behind the workflow's back.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application import environment, logs
from lamplighter.application.notices import telling
from lamplighter.application.notices.classes import announce_classes
from lamplighter.application.notices.readiness import announce_readiness
from lamplighter.application.notices.services import NoticeServices
from lamplighter.application.notices.steps import (
    announce,
    announce_change,
    announce_replacement,
    announce_shortage,
    tell,
    warn,
)
from lamplighter.application.run import step_of

CLUSTER_SECONDS = 30
"""Longer than the cluster function takes to start and look; shorter than this function may live."""


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: `{"step", "run"}` from the workflows, the schedules that warn and other functions."""
    logs.begin(event, context)
    step, run = step_of(event, STEPS)
    done = step(run, _notice_services())
    logs.done(event, done)
    return done


def warm(_run: Mapping[str, object], _notice_services: NoticeServices) -> dict[str, object]:
    """Step Warm: this worker has started, and waits for a run that comes to it soon. Says nothing."""
    return {}


@cache
def _notice_services() -> NoticeServices:
    ledger = Ledger(environment.ENVIRONMENT.ledger_table)
    return NoticeServices(environment.lab(), ledger, telling.notices(), _ask_cluster)


def _ask_cluster(event: Mapping[str, object]) -> Mapping[str, object]:
    return Functions(patience_seconds=CLUSTER_SECONDS).run(environment.ENVIRONMENT.cluster_function, event)


STEPS = {
    "Announce": announce,
    "AnnounceChange": announce_change,
    "AnnounceClasses": announce_classes,
    "AnnounceReadiness": announce_readiness,
    "AnnounceReplacement": announce_replacement,
    "AnnounceShortage": announce_shortage,
    "Tell": tell,
    "Warm": warm,
    "Warn": warn,
}


at_init.make(_notice_services)
