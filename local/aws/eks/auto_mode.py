"""The switch of EKS Auto Mode in CreateCluster and UpdateClusterConfig: three settings that go together.

It checks requests and keeps the settings. local/auto_mode plays what Auto Mode does.
Sources: EKS user guide, auto-enable-existing and auto-disable; the texts of errors from
kubernetes-sigs/cluster-api-provider-aws 5278, terraform-aws-modules/terraform-aws-eks 3238 and
aws-controllers-k8s/community 3046.
"""

import json

from local.aws.api.own_services import AwsError, Document

#: The members of a request that switch Auto Mode, and which tell it in DescribeCluster.
SETTINGS = ("computeConfig", "kubernetesNetworkConfig", "storageConfig")
BUILT_IN_POOLS = frozenset({"general-purpose", "system"})


def switched(request: Document) -> bool | None:
    """Whether a request switches Auto Mode on or off; None if it does neither. Raises EKS's error for a half switch."""
    compute = (request.get("computeConfig") or {}).get("enabled")
    balancing = ((request.get("kubernetesNetworkConfig") or {}).get("elasticLoadBalancing") or {}).get(
        "enabled"
    )
    storage = ((request.get("storageConfig") or {}).get("blockStorage") or {}).get("enabled")
    said = {compute, balancing, storage}
    if said == {None}:
        return None
    if len(said) > 1:
        raise AwsError(
            "InvalidParameterException",
            "For EKS Auto Mode, please ensure that all required configs, including computeConfig,"
            " kubernetesNetworkConfig, and blockStorage are all either fully enabled or fully disabled.",
        )
    return bool(compute)


def check_pools(request: Document, known: Document) -> None:
    """The built-in node pools and their role, which EKS never changes. `known` are the present settings."""
    compute = request.get("computeConfig") or {}
    pools, role = compute.get("nodePools") or [], compute.get("nodeRoleArn")
    if role and not pools:
        raise AwsError(
            "InvalidParameterException",
            "When Compute Config nodeRoleArn is not null or empty, nodePool value(s) must be provided.",
        )
    if pools and not (role or known.get("nodeRoleArn")):
        raise AwsError(
            "InvalidParameterException",
            "When Compute Config nodePool value(s) are provided, nodeRoleArn must not be null or empty.",
        )
    unknown = sorted(set(pools) - BUILT_IN_POOLS)
    if unknown:
        raise AwsError("InvalidParameterException", f"Unknown node pools: {', '.join(unknown)}")
    if role and known.get("nodeRoleArn") not in (None, role):
        raise AwsError("InvalidParameterException", "nodeRoleArn of Compute Config cannot be changed")


def check_creation(request: Document) -> None:
    """Whether CreateCluster may have the settings of the request. Raises AwsError."""
    if not switched(request):
        return
    check_pools(request, {})
    if request.get("bootstrapSelfManagedAddons", True):
        raise AwsError(  # the text is ours [est]; terraform-provider-aws documents the rule (eks_cluster)
            "InvalidParameterException",
            "When EKS Auto Mode is enabled, bootstrapSelfManagedAddons must be set to false",
        )


def settings(request: Document, known: Document) -> Document:
    """The settings as DescribeCluster tells them, after the request. `known` is the cluster's document."""
    compute = {**(known.get("computeConfig") or {}), **(request.get("computeConfig") or {})}
    network = {
        **(known.get("kubernetesNetworkConfig") or {}),
        **(request.get("kubernetesNetworkConfig") or {}),
    }
    if not compute.get("enabled"):
        compute = {"enabled": False}
    return {
        "computeConfig": {"nodePools": [], **compute} if compute["enabled"] else compute,
        "kubernetesNetworkConfig": network,
        "storageConfig": request.get("storageConfig") or known.get("storageConfig"),
    }


def check_update(request: Document, known: Document) -> None:
    """Whether UpdateClusterConfig may switch as it says. Raises AwsError."""
    on = bool((known.get("computeConfig") or {}).get("enabled"))
    if not on and switched(request) is False:
        raise AwsError(
            "InvalidRequestException",
            "Cannot modify EKS Auto Mode configuration. Auto Mode is not enabled on this cluster.",
        )
    check_pools(request, known.get("computeConfig") or {})


def parameters(request: Document) -> dict[str, object]:
    """The parameters of the update, as DescribeUpdate tells them."""
    return {name[:1].upper() + name[1:]: json.dumps(request[name]) for name in SETTINGS if request.get(name)}
