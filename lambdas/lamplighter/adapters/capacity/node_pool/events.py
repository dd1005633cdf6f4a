"""What the cluster's events say about the claims of a NodePool: refused launches and interruptions.

Such a claim is gone soon after. Its events stay for an hour.
"""

from datetime import datetime

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.adapters.kubernetes.nodes import instant
from lamplighter.domain.capacity.node_pool.claim_names import is_claim_of
from lamplighter.domain.capacity.node_pool.evidence import ClaimEvent
from lamplighter.values.instant import foreign

PATH = "/api/v1/namespaces/default/events"
"""Events about objects without a namespace are in this one."""


@border
def claim_events(connection: Connection, node_pool: str) -> list[ClaimEvent]:
    """The warnings about claims of a NodePool. Kubernetes keeps them for an hour."""
    found = connection.list(PATH, fieldSelector="involvedObject.kind=NodeClaim,type=Warning")
    return [
        ClaimEvent(name, _at(event), str(event.get("reason", "")), str(event.get("message", "")))
        for event in found
        if is_claim_of(name := str(event["involvedObject"].get("name") or ""), node_pool)
    ]


def _at(event: Object) -> datetime:
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return foreign(last) or instant(event["metadata"]["creationTimestamp"])
