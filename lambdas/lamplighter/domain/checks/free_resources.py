"""Whether a check may start on a node now: the operator's own validation goes first, people's work stays.

It decides from the pods on the node. The step waits, and tells people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.checks.ladder import NAMESPACE, Check
from lamplighter.domain.checks.placement import GpuNode
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.reason import Reason, reason

#: Pods of the operator's validator. The first of them takes a GPU (WITH_WORKLOAD).
VALIDATING = {"nvidia-device-plugin-validator", "nvidia-cuda-validator"}
#: The operator's validation takes half a minute; a validation that takes five minutes hangs.
VALIDATION_AT_MOST = timedelta(minutes=5)


@dataclass(frozen=True)
class FreeResources:
    """`why` is None where the check may start; `taken`: waiting does not help; `used`: people's work has the GPUs."""

    why: Reason | None = None
    taken: bool = False
    used: bool = False


def room(check: Check, node: GpuNode, pods: Sequence[PodFacts], now: datetime | None) -> FreeResources:
    """Whether the check may start on the node beside these pods; `now` by the API server's clock."""
    running = [pod for pod in pods if not pod.finished]
    for pod in running:
        if pod.labels.get("app") in VALIDATING:
            hangs = now is not None and now > pod.created + VALIDATION_AT_MOST
            if hangs:
                minutes = VALIDATION_AT_MOST // timedelta(minutes=1)
                why = reason("check.validation-hangs", pod=pod.called, node=node.name, minutes=minutes)
                return FreeResources(why, taken=True)
            return FreeResources(reason("check.validation-runs", pod=pod.called, node=node.name))
    # Checks, of this lease or another, end by themselves and queue for the GPU.
    holding = [pod for pod in running if pod.gpus and pod.namespace != NAMESPACE]
    free = node.facts.gpus - sum(pod.gpus for pod in holding)
    if check.gpus(node.facts, node.kind) > free:
        why = reason("check.gpus-in-use", pods=tuple(pod.called for pod in holding))
        return FreeResources(why, taken=True, used=True)
    return FreeResources()
