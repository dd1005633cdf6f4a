"""Karpenter's Deployment and what it needs, as values, and what is wrong with them: it alone starts and ends nodes.

The doctor has a check for each of them. The guard says each fault of these.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lamplighter.reasons.reason import Reason, Said, reason

NAMESPACE, NAME = "kube-system", "karpenter"
"""Where the lab installs it: its release, its Deployment and its service account."""
RESTARTS_WITHIN = timedelta(minutes=5)
"""A new version or a moved pod is back by then."""


@dataclass(frozen=True, slots=True)
class Controller:
    """The Deployment of Karpenter."""

    name: str
    version: str | None
    wanted: int
    available: int
    why_not: Said = ""
    """Why its pods do not run, where Kubernetes says it."""
    static_capacity: bool = True
    """Whether its gate for static NodePools is on."""
    queue: str = ""
    """The queue of interruptions that it reads; empty for none."""
    down_since: datetime | None = None
    """Since when none of its pods is available, where Kubernetes says it."""


@dataclass(frozen=True, slots=True)
class Health:
    """What one look at Karpenter showed."""

    controllers: tuple[Controller, ...] = ()
    absent_kinds: tuple[str, ...] = ()
    """Kinds of object that the cluster does not know."""
    absent_queues: tuple[str, ...] = ()
    unread_queues: Mapping[str, str] = field(default_factory=dict)
    """By queue: why it is not known whether it exists."""


def does_not_run(health: Health) -> Reason | None:
    """Why no node starts or ends; None where Karpenter runs."""
    if not health.controllers:
        return reason("guard.karpenter.absent")
    if any(one.wanted and one.available for one in health.controllers):
        return None
    one = health.controllers[0]
    if not one.wanted:
        return reason("guard.karpenter.scaled-down", deployment=one.name)
    why = one.why_not or reason("guard.karpenter.no-reason")
    return reason("guard.karpenter.down", deployment=one.name, wanted=one.wanted, why=why)


def faults(health: Health, now: datetime) -> Iterator[Reason]:
    """Each thing that is wrong, once a restart would be over."""
    down = does_not_run(health)
    if down is not None and not _restarts(health, now):
        yield down
    if health.absent_kinds:
        yield reason("guard.karpenter.kinds", kinds=health.absent_kinds)
    for queue in health.absent_queues:
        yield reason("guard.karpenter.queue", queue=queue)
    for queue, error in health.unread_queues.items():
        yield reason("guard.karpenter.queue-unread", queue=queue, error=error)


def _restarts(health: Health, now: datetime) -> bool:
    return any(
        one.wanted and one.down_since is not None and now - one.down_since < RESTARTS_WITHIN
        for one in health.controllers
    )
