"""Finds the programs of a cluster that may add or remove nodes: Cluster Autoscaler, Karpenter, EKS Auto Mode."""

from collections.abc import Iterable

from lamplighter.adapters.border import border
from lamplighter.adapters.kubernetes.connection import Connection, Object
from lamplighter.domain.pool.adoption import Autoscalers
from lamplighter.errors import OutsideFailed

DEPLOYMENTS = "/apis/apps/v1/deployments"
NODEPOOLS = "/apis/karpenter.sh/v1/nodepools"
AUTO_MODE_GROUP, KARPENTER_GROUP = "eks.amazonaws.com", "karpenter.k8s.aws"
"""The API groups of node classes; keys of requirements begin with them as well."""
KARPENTER_IMAGE = "karpenter/controller"
KARPENTERS_NAMESPACES = {"kube-system", "karpenter"}
"""Where its documentation installs it, since 0.33 and before (https://karpenter.sh/docs/getting-started)."""
#: The requirements of a NodePool that limit instance types, and the first letters of EC2's GPU families.
GPU_COUNT = "instance-gpu-count"
FAMILIES = ("instance-category", "instance-family")
TYPES = "node.kubernetes.io/instance-type"
GPU_LETTERS = ("g", "p", "vt")


@border
def autoscalers(connection: Connection, *, auto_mode: bool = False) -> Autoscalers:
    """The autoscalers that run; `asked` is False where the cluster does not answer or denies the call.

    `auto_mode` says that EKS Auto Mode is on, whose controller is no deployment of the cluster.
    """
    try:
        return among(connection, connection.list(DEPLOYMENTS), auto_mode=auto_mode)
    except OutsideFailed as error:
        return Autoscalers(asked=False, reachable=connection.server_time is not None, why_not=str(error))


@border
def among(connection: Connection, deployments: Iterable[Object], *, auto_mode: bool = False) -> Autoscalers:
    """The autoscalers among a cluster's deployments; OutsideFailed where NodePools cannot be read."""
    running = [each for each in deployments if (each.get("spec") or {}).get("replicas") != 0]
    # registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0, whatever the release is called
    found = tuple(_name(each) for each in running if runs(each, "cluster-autoscaler"))
    nodepools: tuple[str, ...] = ()
    if auto_mode or any(runs(each, KARPENTER_IMAGE) for each in running):
        pools = connection.list(NODEPOOLS)
        nodepools = tuple(_named(pool) for pool in pools if may_start_gpus(pool))
    return Autoscalers(asked=True, found=found, nodepools=nodepools)


def karpenters(deployments: Iterable[Object]) -> list[Object]:
    """The Deployments of Karpenter among a cluster's, whatever their names are.

    A tenant may give a Deployment any image, labels and account, but cannot choose a namespace of administrators, nor
    when the API server says it was created. So those in Karpenter's namespaces count. Without one there, those in the
    namespace of the oldest count.
    """
    found = [each for each in deployments if runs(each, KARPENTER_IMAGE)]
    oldest = min(found, key=lambda each: str(each["metadata"].get("creationTimestamp", "")), default=None)
    if oldest is None:
        return []
    usual = [each for each in found if _namespace(each) in KARPENTERS_NAMESPACES]
    return usual or [each for each in found if _namespace(each) == _namespace(oldest)]


def _namespace(deployment: Object) -> str:
    return str(deployment["metadata"]["namespace"])


def runs(deployment: Object, image: str) -> bool:
    """Whether a container of the deployment has this image."""
    spec = (deployment.get("spec") or {}).get("template", {}).get("spec", {})
    return any(image in str(container.get("image", "")) for container in spec.get("containers") or [])


def may_start_gpus(pool: Object) -> bool:
    """Whether the requirements of a NodePool allow instance types with GPUs.

    Karpenter does not know the keys of EKS Auto Mode, and Auto Mode not those of Karpenter.
    """
    spec = (pool.get("spec") or {}).get("template", {}).get("spec", {})
    group = (spec.get("nodeClassRef") or {}).get("group") or KARPENTER_GROUP
    return not any(_keeps_gpus_out(each, group) for each in spec.get("requirements") or [])


def _keeps_gpus_out(requirement: Object, group: str) -> bool:
    key, operator = str(requirement.get("key")), requirement.get("operator")
    values = [str(value) for value in requirement.get("values") or []]
    prefix, _, word = key.partition("/")
    known = word if prefix == group else ""
    if known == GPU_COUNT:
        return operator == "DoesNotExist" or (operator == "Lt" and values == ["1"])
    if known in FAMILIES or key == TYPES:
        return operator == "In" and not any(value.startswith(GPU_LETTERS) for value in values)
    return False


def _name(deployment: Object) -> str:
    metadata = deployment["metadata"]
    return f"deployment {metadata['namespace']}/{metadata['name']}"


def _named(pool: Object) -> str:
    return str(pool["metadata"]["name"])
