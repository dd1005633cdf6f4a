"""The text of the DCGM exporter on a node, through the API server: functions have no way to a pod's address."""

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.gpu.dcgm_exporter import PORT
from lamplighter.domain.gpu.gpu_use import LARGEST
from lamplighter.domain.pool.nodes import PodFacts

_LABELS = {("app", "nvidia-dcgm-exporter"), ("app.kubernetes.io/name", "dcgm-exporter")}
"""Of the GPU Operator's exporter, and of its own chart's."""


def is_exporter(pod: PodFacts, namespace: str) -> bool:
    """Whether it is a DCGM exporter that serves. Only in the lab's own namespace for it: anybody may use its labels."""
    return pod.namespace == namespace and pod.ready and bool(_LABELS & set(pod.labels.items()))


@border
def read(connection: Connection, exporter: PodFacts) -> str | None:
    """The metrics that it serves; None where it gives none. Raises Forbidden without the right to ask."""
    path = f"/api/v1/namespaces/{exporter.namespace}/pods/{exporter.name}:{PORT}/proxy/metrics"
    answer = connection.ask("GET", path, most=LARGEST)
    return answer.text if answer.ok else None
