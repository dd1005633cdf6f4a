"""Emptying a node: which pods must leave, which may stay, and how long eviction is tried.

Decides from the pods on the node. The step evicts, waits and deletes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.domain.pool.nodes import PodFacts

# Shorter than EKS's own drain of 15 minutes and the 15 minutes to zero: pods have 4 minutes to end well.
PATIENCE = timedelta(minutes=4)
FORCED_GRACE_SECONDS = 10

# Our annotations on a node that leaves: since when, by our own clock, and how many pods were evicted.
LEAVING = "lamplighter/leaving-since"
EVICTED = "lamplighter/evicted"
NOTES = (LEAVING, EVICTED)


def patience(drain: timedelta | None) -> timedelta:
    """How long the pods of a leaving node have: as the pool says, or our own time."""
    return PATIENCE if drain is None else drain


def left_to_the_controller(drain: timedelta | None) -> bool:
    """Whether the pool gives its pods longer than our own time: its controller then drains, and ends them after that.

    Our step would wait in the way of the order of the size.
    """
    return drain is not None and drain > PATIENCE


@dataclass(frozen=True)
class Emptying:
    """The pods of one node that have not left it."""

    evict: tuple[PodFacts, ...]
    """To be evicted."""
    ending: tuple[PodFacts, ...]
    """Evicted already, within their own grace period."""

    @property
    def empty(self) -> bool:
        return not self.evict and not self.ending


def emptying(pods: Iterable[PodFacts]) -> Emptying:
    """The pods that must still leave. DaemonSet pods and static pods end with the node; finished pods hold nothing."""
    staying = [pod for pod in pods if not (pod.daemon or pod.mirror or pod.finished)]
    return Emptying(
        evict=tuple(pod for pod in staying if not pod.leaving),
        ending=tuple(pod for pod in staying if pod.leaving),
    )
