"""Finds the programs of a cluster that may add or remove nodes: Cluster Autoscaler and Karpenter."""

from collections.abc import Iterable

from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.errors import OutsideFailed

DEPLOYMENTS = "/apis/apps/v1/deployments"
NODEPOOLS = "/apis/karpenter.sh/v1/nodepools"
GPU_COUNT = "karpenter.k8s.aws/instance-gpu-count"
#: The requirements of a NodePool that limit instance types, and the first letters of EC2's GPU families.
FAMILIES = ("karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-family")
TYPES = "node.kubernetes.io/instance-type"
GPU_LETTERS = ("g", "p", "vt")


def autoscalers(connection: Connection) -> Autoscalers:
    """The autoscalers that run; `asked` is False where the cluster does not answer or denies the call."""
    try:
        return among(connection, connection.list(DEPLOYMENTS))
    except OutsideFailed as error:
        return Autoscalers(asked=False, reachable=connection.server_time is not None, why_not=str(error))


def among(connection: Connection, deployments: Iterable[Object]) -> Autoscalers:
    """The autoscalers among a cluster's deployments; OutsideFailed where Karpenter's NodePools cannot be read."""
    running = [each for each in deployments if (each.get("spec") or {}).get("replicas") != 0]
    # registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0, whatever the release is called
    found = tuple(_name(each) for each in running if _runs(each, "cluster-autoscaler"))
    nodepools: tuple[str, ...] = ()
    if any(_runs(each, "karpenter/controller") for each in running):
        pools = connection.list(NODEPOOLS)
        nodepools = tuple(f"Karpenter's NodePool {_named(pool)}" for pool in pools if _may_start_gpus(pool))
    return Autoscalers(asked=True, found=found, nodepools=nodepools)


def _runs(deployment: Object, image: str) -> bool:
    spec = (deployment.get("spec") or {}).get("template", {}).get("spec", {})
    return any(image in str(container.get("image", "")) for container in spec.get("containers") or [])


def _may_start_gpus(pool: Object) -> bool:
    """Whether its requirements allow instance types with GPUs."""
    spec = (pool.get("spec") or {}).get("template", {}).get("spec", {})
    return not any(_keeps_gpus_out(each) for each in spec.get("requirements") or [])


def _keeps_gpus_out(requirement: Object) -> bool:
    key, operator = requirement.get("key"), requirement.get("operator")
    values = [str(value) for value in requirement.get("values") or []]
    if key == GPU_COUNT:
        return operator == "DoesNotExist" or (operator == "Lt" and values == ["1"])
    if key in FAMILIES or key == TYPES:
        return operator == "In" and not any(value.startswith(GPU_LETTERS) for value in values)
    return False


def _name(deployment: Object) -> str:
    metadata = deployment["metadata"]
    return f"deployment {metadata['namespace']}/{metadata['name']}"


def _named(pool: Object) -> str:
    return str(pool["metadata"]["name"])
