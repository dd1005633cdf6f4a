"""What EKS says of a cluster: whether it exists, and the network of its Services, which EKS chooses."""

from lamplighter.adapters.aws.calls import client, error_code, outside
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


@border
def exists(cluster: str) -> bool:
    """Whether there is a cluster of that name."""
    with outside("eks:DescribeCluster", cluster):
        try:
            client("eks").describe_cluster(name=cluster)
        except Exception as error:
            if error_code(error) != "ResourceNotFoundException":
                raise
            return False
    return True
