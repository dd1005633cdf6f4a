"""The GPU Operator's ClusterPolicy: read here; what a window changes of it is put on by lending.py."""

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import Connection, Object

PATH = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"


@border
def live(connection: Connection) -> Object:
    """The whole of the operator's one ClusterPolicy; empty where there is none."""
    return connection.get(PATH)
