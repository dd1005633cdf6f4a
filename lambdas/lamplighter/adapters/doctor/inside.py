"""What the cluster itself says: who else adds nodes there, and which GPU Operator runs."""

import re

from lamplighter.adapters.kubernetes.autoscalers import DEPLOYMENTS, among
from lamplighter.adapters.kubernetes.connection import Connection, Object, connect
from lamplighter.domain.doctor.facts import ClusterFacts
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.errors import OutsideFailed

PATIENCE_SECONDS = 4.0
"""For an answer: whoever asks waits for the slowest read."""
# nvcr.io/nvidia/gpu-operator:v26.3.1, whatever the release is called
_OPERATOR = re.compile(r"/gpu-operator:(v\d+\.\d+\.\d+)")


def look(cluster: str) -> ClusterFacts:
    """Never raises for a cluster that does not answer: that is an answer as well."""
    try:
        connection = connect(cluster)
    except OutsideFailed as error:
        return ClusterFacts(Autoscalers(asked=False, reachable=False, why_not=str(error)))
    connection.patience, connection.read_seconds = 0, PATIENCE_SECONDS
    return seen(connection)


def seen(connection: Connection) -> ClusterFacts:
    """What a connection sees."""
    try:
        deployments = connection.list(DEPLOYMENTS)
    except OutsideFailed as error:
        return ClusterFacts(_not_asked(connection, error))
    operator = next(filter(None, map(_operator, deployments)), None)
    try:
        return ClusterFacts(among(connection, deployments), operator)
    except OutsideFailed as error:
        return ClusterFacts(_not_asked(connection, error), operator)


def _not_asked(connection: Connection, error: OutsideFailed) -> Autoscalers:
    answered = connection.server_time is not None
    return Autoscalers(asked=False, reachable=answered, why_not=str(error).rstrip("?"))


def _operator(deployment: Object) -> str | None:
    spec = (deployment.get("spec") or {}).get("template", {}).get("spec", {})
    for container in spec.get("containers") or []:
        found = _OPERATOR.search(str(container.get("image", "")))
        if found:
            return found[1]
    return None
