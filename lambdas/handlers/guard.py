"""The guard function: a sweep every five minutes and on Auto Scaling's events, and CloseLab's proof of zero.

Level-triggered: an event only says "look now", it carries nothing that is believed.
"""

import logging
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from handlers.environment import ENVIRONMENT
from handlers.guard_acts import act
from handlers.guard_facts import Watch, gather
from handlers.guard_proof import end_drains, mark_leaked, prove_zero
from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.domain.guard import sweep
from lamplighter.errors import BadInput, OutsideFailed, TryLater

if TYPE_CHECKING:
    from lamplighter.adapters.kubernetes.connection import Connection

_logger = logging.getLogger(__name__)

STEPS = {"ProveZero": prove_zero, "MarkLeaked": mark_leaked}


def handler(event: Mapping[str, object], _context: object) -> dict[str, object]:
    """Entry point: a step of CloseLab (`{"step", "run"}`), or an event of any kind, which is a sweep."""
    if "step" not in event:
        return sweep_all(_watch())
    step, run = STEPS.get(str(event["step"])), event.get("run")
    if step is None or not isinstance(run, Mapping):
        raise BadInput(
            f"step: the guard has no step {event['step']!r} or was given no run; it has {', '.join(STEPS)}"
        )
    return step(run, _watch())


def sweep_all(watch: Watch) -> dict[str, object]:
    """One round over all pools; a pool that cannot be read does not keep the others from being guarded."""
    breaches: list[dict[str, object]] = []
    failures: list[str] = []
    for pool in watch.capacity.lab.pools:
        try:
            breaches += _sweep_pool(watch, pool)
        except TryLater as later:
            _logger.info("pool %s is left to the next sweep: %s", pool, later)
        except OutsideFailed as error:
            _logger.exception("pool %s could not be swept", pool)
            failures.append(f"pool {pool}: {error}")
    if failures:
        raise OutsideFailed("; ".join(failures))
    return {"breaches": breaches}


def _sweep_pool(watch: Watch, pool: str) -> list[dict[str, object]]:
    facts = gather(watch, pool)
    found: list[dict[str, object]] = [
        {
            "pool": pool,
            "rule": breach.rule.value,
            "action": breach.action.value,
            "reason": breach.reason,
            "done": act(watch, pool, breach),
        }
        for breach in sweep(facts)
    ]
    if facts.enforcing and not facts.target.nodes:
        end_drains(watch, pool, facts.group)
    return found


@cache
def _watch() -> Watch:
    """The guard of the lab that this function belongs to."""
    from handlers.desk import desk  # noqa: PLC0415 -- brings the whole lab with it

    return Watch(
        desk=desk(),
        workflows=Workflows(),
        pages=Notices(ENVIRONMENT.pages_topic),
        close_lab=ENVIRONMENT.close_lab,
        connect=_connect,
    )


@cache
def _connect() -> "Connection":
    from lamplighter.adapters.kubernetes.connection import connect  # noqa: PLC0415 -- only where it matters

    return connect(ENVIRONMENT.cluster_name)
