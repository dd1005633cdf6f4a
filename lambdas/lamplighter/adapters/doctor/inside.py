"""Reads the cluster's own API: which autoscalers and which GPU Operator run there."""

import re
from collections.abc import Iterable

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.autoscalers import DEPLOYMENTS, among
from lamplighter.adapters.kubernetes.connection import Connection, Object, connect
from lamplighter.domain.doctor.facts import ClusterFacts
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.errors import OutsideFailed

PATIENCE_SECONDS = 4.0
"""For an answer. The caller waits for the slowest read."""
# nvcr.io/nvidia/gpu-operator:v26.3.1, under any release name
_OPERATOR = re.compile(r"/gpu-operator:(v\d+\.\d+\.\d+)")


@border
def read(cluster: str, *, auto_mode: bool = False) -> ClusterFacts:
    """The facts of a cluster. A cluster that does not answer is a fact too, and raises nothing."""
    try:
        connection = patiently(cluster)
    except OutsideFailed as error:
        return ClusterFacts(Autoscalers(asked=False, reachable=False, why_not=error.said))
    return seen(connection, auto_mode=auto_mode)


@border
def patiently(cluster: str) -> Connection:
    """A connection that waits as long as a caller of the doctor does. Raises OutsideFailed."""
    connection = connect(cluster)
    connection.patience, connection.read_seconds = 0, PATIENCE_SECONDS
    return connection


@border
def seen(connection: Connection, *, auto_mode: bool = False) -> ClusterFacts:
    """The facts that a connection reads."""
    try:
        deployments = connection.list(DEPLOYMENTS)
    except OutsideFailed as error:
        return ClusterFacts(_not_asked(connection, error))
    operator = next(filter(None, map(_operator, deployments)), None)
    try:
        programs = among(connection, deployments, auto_mode=auto_mode)
        return ClusterFacts(programs, operator, _unavailable(deployments))
    except OutsideFailed as error:
        return ClusterFacts(_not_asked(connection, error), operator)


def _not_asked(connection: Connection, error: OutsideFailed) -> Autoscalers:
    answered = connection.server_time is not None
    return Autoscalers(asked=False, reachable=answered, why_not=error.said)


def _operator(deployment: Object) -> str | None:
    spec = (deployment.get("spec") or {}).get("template", {}).get("spec", {})
    for container in spec.get("containers") or []:
        found = _OPERATOR.search(str(container.get("image", "")))
        if found:
            return found[1]
    return None


def _unavailable(deployments: Iterable[Object]) -> tuple[str, ...]:
    """Deployments of the add-ons and of the GPU Operator that want pods and have none available."""
    listed = list(deployments)
    namespaces = {"kube-system", *(_namespace(one) for one in listed if _operator(one))}
    return tuple(
        f"{_namespace(one)}/{(one.get('metadata') or {}).get('name', '')}"
        for one in listed
        if _namespace(one) in namespaces
        and (one.get("spec") or {}).get("replicas", 1) != 0
        and not (one.get("status") or {}).get("availableReplicas")
    )


def _namespace(deployment: Object) -> str:
    return str((deployment.get("metadata") or {}).get("namespace", ""))
