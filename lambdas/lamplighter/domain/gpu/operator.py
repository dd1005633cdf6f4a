"""The state of the GPU Operator, from its ClusterPolicy and its own pods: does it act on its settings.

settings.py compares the settings; readiness.py says whether the GPUs are ready.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.reason import Reason, reason

# The label of the chart's Deployment, v26.3.1.
POD_LABEL = "app=gpu-operator"
VERSION_OF_POD = "pod-template-hash"
QUOTED = 200
"""Characters of a quotation from Kubernetes."""


class OperatorStatus(StrEnum):
    """Whether the operator acts on its ClusterPolicy."""

    WORKS = "works"
    ABSENT = "absent"
    STOPPED = "stopped"
    UPGRADING = "upgrading"


@dataclass(frozen=True)
class OperatorState:
    """The operator's status, and the reason for it; None where it works."""

    status: OperatorStatus
    reason: Reason | None = None


def operator_state(policy: Mapping[str, object], pods: Sequence[PodFacts]) -> OperatorState:
    """The state by the live ClusterPolicy, empty where there is none, and by the operator's pods.

    An upgrade is read from the pods and the ClusterPolicy, since reading the Helm release needs access to Secrets.
    """
    here = [pod for pod in pods if not pod.finished]
    if not policy:
        return _without_policy(here)
    metadata = policy.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("deletionTimestamp"):
        return OperatorState(OperatorStatus.UPGRADING, reason("gpu.operator.policy-deleted"))
    if len({pod.labels.get(VERSION_OF_POD) for pod in here}) > 1:
        return OperatorState(OperatorStatus.UPGRADING, reason("gpu.operator.two-versions"))
    if any(pod.ready for pod in here):
        return OperatorState(OperatorStatus.WORKS)
    if not here:
        return OperatorState(OperatorStatus.STOPPED, reason("gpu.operator.no-pod"))
    state = next((pod.waiting for pod in here if pod.waiting), here[0].phase)
    return OperatorState(OperatorStatus.STOPPED, reason("gpu.operator.not-running", state=state[:QUOTED]))


def _without_policy(here: Sequence[PodFacts]) -> OperatorState:
    if here:
        return OperatorState(OperatorStatus.UPGRADING, reason("gpu.operator.no-policy-yet"))
    return OperatorState(OperatorStatus.ABSENT, reason("gpu.operator.absent"))
