"""The network of an EKS cluster's Services, which EKS chooses when it makes the cluster."""

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason


@border
def service_cidr(cluster: str) -> str:
    """The IPv4 block of the cluster's Services, such as 10.100.0.0/16."""
    call = "eks:DescribeCluster"
    with outside(call, cluster):
        described = client("eks").describe_cluster(name=cluster)["cluster"]
    block = described.get("kubernetesNetworkConfig", {}).get("serviceIpv4Cidr")
    if not block:
        raise OutsideFailed(reason("deploy.no-service-network", cluster=cluster), call, cluster)
    return str(block)
