"""Evicts pods as policy/v1 does: the API server asks the PodDisruptionBudgets, and may answer "not yet"."""

from enum import StrEnum

from lamplighter.adapters.kubernetes.connection import NOT_FOUND, TOO_MANY, Connection
from lamplighter.domain.pool.nodes import PodFacts


class Eviction(StrEnum):
    """What became of asking."""

    ACCEPTED = "accepted"
    NOT_YET = "not yet"
    """A PodDisruptionBudget allows no disruption now."""
    GONE = "gone"


def evict(connection: Connection, pod: PodFacts) -> Eviction:
    """Ask for the pod's eviction, with its own grace period."""
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
