"""Evicts pods by policy/v1: the API server checks the PodDisruptionBudgets, and may answer "not yet"."""

from enum import StrEnum

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import NOT_FOUND, TOO_MANY, Connection
from lamplighter.domain.pool.nodes import PodFacts


class Eviction(StrEnum):
    """The outcome of an eviction."""

    ACCEPTED = "accepted"
    NOT_YET = "not yet"
    """A PodDisruptionBudget allows no disruption now."""
    GONE = "gone"


@border
def evict(connection: Connection, pod: PodFacts) -> Eviction:
    """Evict the pod, with its own grace period."""
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
    }
    answer = connection.ask("POST", path, body=body)
    if answer.status == NOT_FOUND:
        return Eviction.GONE
    if answer.status == TOO_MANY:
        return Eviction.NOT_YET
    connection.expect(answer, "POST", path)
    return Eviction.ACCEPTED
