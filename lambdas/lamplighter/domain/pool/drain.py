"""What emptying a node means: which pods are asked to go, which are left, and when asking ends.

Decides from the pods on the node; evicting, waiting and deleting are the step's.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from lamplighter.domain.pool.nodes import PodFacts

# Inside EKS's own drain of 15 minutes and the 15 minutes to zero: work gets 4 minutes to end well.
PATIENCE = timedelta(minutes=4)
FORCED_GRACE_SECONDS = 10

# Our notes on a node that leaves: since when, by our own clock, and how many pods were told to go.
LEAVING = "lamplighter/leaving-since"
EVICTED = "lamplighter/evicted"
NOTES = (LEAVING, EVICTED)


@dataclass(frozen=True)
class Emptying:
    """The pods of one node, sorted by what happens to them."""

    evict: tuple[PodFacts, ...]
    ending: tuple[PodFacts, ...]
    """Asked already, within their own grace period."""

    @property
    def empty(self) -> bool:
        return not self.evict and not self.ending


def emptying(pods: Iterable[PodFacts]) -> Emptying:
    """Who must still leave. DaemonSet pods and static pods end with the node; finished ones hold nothing."""
    staying = [pod for pod in pods if not (pod.daemon or pod.mirror or pod.finished)]
    return Emptying(
        evict=tuple(pod for pod in staying if not pod.leaving),
        ending=tuple(pod for pod in staying if pod.leaving),
    )
