"""The GPU Operator's ClusterPolicy: read, never written."""

from lamplighter.adapters.kubernetes.connection import Connection, Object

PATH = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"


def spec(connection: Connection) -> Object | None:
    """The spec of the operator's one ClusterPolicy; None where the operator is not installed."""
    found = connection.get(PATH)
    if not found:
        return None
    settings: Object = found.get("spec") or {}
    return settings
