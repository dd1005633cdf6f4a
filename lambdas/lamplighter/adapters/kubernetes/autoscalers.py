"""Finds what else in a cluster may add or remove nodes: Cluster Autoscaler and its like."""

from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.domain.adoption import Autoscalers
from lamplighter.errors import OutsideFailed


def autoscalers(connection: Connection) -> Autoscalers:
    """The autoscalers that run; not asked where the cluster does not answer or does not let us look."""
    try:
        deployments = connection.list("/apis/apps/v1/deployments")
    except OutsideFailed as error:
        return Autoscalers(
            asked=False, reachable=connection.server_time is not None, why_not=str(error).rstrip("?")
        )
    return Autoscalers(asked=True, found=tuple(_name(each) for each in deployments if _scales_nodes(each)))


def _scales_nodes(deployment: Object) -> bool:
    spec = deployment.get("spec") or {}
    if spec.get("replicas") == 0:
        return False
    containers = spec.get("template", {}).get("spec", {}).get("containers") or []
    # registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0, whatever the release is called
    return any("cluster-autoscaler" in str(container.get("image", "")) for container in containers)


def _name(deployment: Object) -> str:
    metadata = deployment["metadata"]
    return f"deployment {metadata['namespace']}/{metadata['name']}"
