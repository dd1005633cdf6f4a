"""The guard function: a sweep every five minutes and on Auto Scaling's events, and CloseLab's proof of zero.

Level-triggered: an event only says "look now", it carries nothing that is believed.
"""

import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from handlers import telling
from handlers.capacity import Seen
from handlers.environment import ENVIRONMENT
from handlers.guard_acts import act
from handlers.guard_facts import gather
from handlers.guard_loans import give_back_forgotten
from handlers.guard_proof import end_drains, mark_leaked, prove_zero
from handlers.guard_schedules import reconcile
from handlers.guard_stirs import stir
from handlers.guard_watch import Watch, gather_lab
from lamplighter.adapters.aws.claims import Claims
from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.guard import sweep
from lamplighter.domain.guard_facts import PoolFacts
from lamplighter.domain.lease import Lease
from lamplighter.errors import BadInput, LamplighterError, OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection

_logger = logging.getLogger(__name__)

STEPS = {"ProveZero": prove_zero, "MarkLeaked": mark_leaked}


def handler(event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point: a step of CloseLab (`{"step", "run"}`), or an event of any kind, which is a sweep."""
    watch = _watch()
    watch.kubernetes_silent = False
    if "step" not in event:
        return sweep_all(watch)
    step, run = STEPS.get(str(event["step"])), event.get("run")
    if step is None or not isinstance(run, Mapping):
        raise BadInput(
            f"step: the guard has no step {event['step']!r} or was given no run; it has {', '.join(STEPS)}"
        )
    return step(run, watch)


def sweep_all(watch: Watch) -> dict[str, object]:
    """One round over all pools; what cannot be read or done keeps nothing else from being guarded."""
    lab_facts = gather_lab(watch)
    breaches: list[dict[str, object]] = []
    leases: dict[str, tuple[Lease, ...]] = {}
    failures = list(lab_facts.failures)
    for pool in watch.capacity.lab.pools:
        try:
            facts = gather(watch, pool, lab_facts)
        except LamplighterError as error:
            _logger.exception("pool %s could not be read", pool)
            failures.append(f"pool {pool}: {error}")
            continue
        breaches += _put_right(watch, facts, failures)
        leases[pool] = facts.leases
        stir(watch, facts, failures)
    try:
        reconcile(watch, lab_facts, leases)
    except LamplighterError as error:
        _logger.exception("the schedules could not be compared")
        failures.append(f"schedules: {error}")
    try:
        give_back_forgotten(watch, leases)
    except LamplighterError as error:
        _logger.exception("what leases changed of the GPU settings could not be looked at")
        failures.append(f"GPU settings: {error}")
    if failures:
        raise OutsideFailed("; ".join(failures))
    return {"breaches": breaches}


def _put_right(watch: Watch, facts: PoolFacts, failures: list[str]) -> list[dict[str, object]]:
    """Each breach by itself: one that cannot be put right now is left to the next sweep."""
    found: list[dict[str, object]] = []
    for breach in sweep(facts):
        done = False
        try:
            done = act(watch, facts, breach)
        except TryLater as later:
            _logger.info("%s is left to the next sweep: %s", breach.rule.value, later)
        except LamplighterError as error:
            _logger.exception("%s could not be put right", breach.rule.value)
            failures.append(f"pool {facts.pool}, {breach.rule.value}: {error}")
        found.append(
            {
                "pool": facts.pool,
                "rule": breach.rule.value,
                "action": breach.action.value,
                "reason": breach.reason,
                "done": done,
            }
        )
    if facts.acting and not facts.target.nodes:
        try:
            end_drains(watch, facts.pool, facts.group)
        except LamplighterError as error:
            failures.append(f"pool {facts.pool}, draining: {error}")
    _count(watch, facts, failures)
    return found


def _count(watch: Watch, facts: PoolFacts, failures: list[str]) -> None:
    """Money comes last: nothing is kept running to be counted."""
    from handlers.guard_money import count  # noqa: PLC0415 -- only the sweep counts

    seen = Seen(facts.nodegroup, facts.group, facts.instances)
    try:
        count(watch.desk, facts.pool, facts.leases, seen, facts.now)
    except LamplighterError as error:
        failures.append(f"pool {facts.pool}, counting: {error}")


@cache
def _watch() -> Watch:
    """The guard of the lab that this function belongs to."""
    from handlers.desk import desk  # noqa: PLC0415 -- brings the whole lab with it

    return Watch(
        desk=desk(),
        workflows=Workflows(),
        pages=telling.pages(),
        notices=telling.notices(),
        claims=Claims(ENVIRONMENT.cluster_name),
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
def _connect() -> "Connection":
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415 -- only where it matters

    return connect(ENVIRONMENT.cluster_name)
