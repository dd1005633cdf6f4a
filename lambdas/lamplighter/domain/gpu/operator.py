"""What can be said of the GPU Operator from its ClusterPolicy and its own pods: does it act on its settings.

Whether the settings are right is for settings.py; whether GPUs came of it, for readiness.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.pool.nodes import PodFacts

# The label of the chart's Deployment, v26.3.1.
POD_LABEL = "app=gpu-operator"
VERSION_OF_POD = "pod-template-hash"


class Operator(StrEnum):
    """How the operator is."""

    WORKS = "works"
    ABSENT = "absent"
    STOPPED = "stopped"
    UPGRADING = "upgrading"


@dataclass(frozen=True)
class OperatorState:
    """How the operator is, and the sentence that says so; empty where it works."""

    operator: Operator
    reason: str = ""


def standing(policy: Mapping[str, object], pods: Sequence[PodFacts]) -> OperatorState:
    """Judged by the live ClusterPolicy, empty where there is none, and by the operator's pods.

    A Helm release cannot be read without reading Secrets; two generations of its pod side by side, a
    ClusterPolicy that is leaving, or a pod without any say the same.
    """
    here = [pod for pod in pods if not pod.finished]
    if not policy:
        return _without_policy(here)
    metadata = policy.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("deletionTimestamp"):
        return OperatorState(
            Operator.UPGRADING, "the GPU Operator is being taken away: its ClusterPolicy is leaving"
        )
    if len({pod.labels.get(VERSION_OF_POD) for pod in here}) > 1:
        return OperatorState(
            Operator.UPGRADING, "the GPU Operator is being upgraded: two generations of its pod are there"
        )
    if any(pod.ready for pod in here):
        return OperatorState(Operator.WORKS)
    if not here:
        return OperatorState(
            Operator.STOPPED,
            "the GPU Operator is switched off: no pod of it runs, so nothing acts on its ClusterPolicy",
        )
    waits = next((pod.waiting for pod in here if pod.waiting), here[0].phase)
    return OperatorState(
        Operator.STOPPED, f"the GPU Operator does not run ({waits}), so nothing acts on its ClusterPolicy"
    )


def _without_policy(here: Sequence[PodFacts]) -> OperatorState:
    if here:
        return OperatorState(
            Operator.UPGRADING,
            "the GPU Operator is being installed or upgraded: its pod is there, its ClusterPolicy is not",
        )
    return OperatorState(
        Operator.ABSENT,
        "the GPU Operator is not installed: the cluster has no ClusterPolicy, and no pod of the operator",
    )
