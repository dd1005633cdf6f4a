"""Whether a node has room for a check now: the operator's own validation goes first, other people's work stays.

Decides from the pods on the node; waiting and telling are the step's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.checks.ladder import NAMESPACE, Check
from lamplighter.domain.checks.placement import GpuNode
from lamplighter.domain.pool.nodes import PodFacts

#: Pods that the operator's validator runs, the first of which takes a GPU (WITH_WORKLOAD).
VALIDATING = {"nvidia-device-plugin-validator", "nvidia-cuda-validator"}
#: The operator's validation takes half a minute; one that takes so long hangs.
VALIDATION_AT_MOST = timedelta(minutes=5)


@dataclass(frozen=True)
class FreeResources:
    """`why` is None where the check may start; `taken` where there is no use in waiting, `used` by people's work."""

    why: str | None = None
    taken: bool = False
    used: bool = False


def room(check: Check, node: GpuNode, pods: Sequence[PodFacts], now: datetime | None) -> FreeResources:
    """Whether the check may start on the node beside these pods; `now` by the API server's clock."""
    alive = [pod for pod in pods if not pod.finished]
    for pod in alive:
        if pod.labels.get("app") in VALIDATING:
            hangs = now is not None and now > pod.created + VALIDATION_AT_MOST
            text = f"the operator's own validation ({pod.called}) still runs on {node.name}"
            return FreeResources(f"{text}, after five minutes" if hangs else text, taken=hangs)
    # Checks, also another lease's, end by themselves and queue for the GPU.
    held = [pod for pod in alive if pod.gpus and pod.namespace != NAMESPACE]
    free = node.facts.gpus - sum(pod.gpus for pod in held)
    if check.gpus(node.facts, node.kind) > free:
        names = ", ".join(pod.called for pod in held[:3])
        return FreeResources(f"its GPUs are in use by {names}", taken=True, used=True)
    return FreeResources()
