"""Windows: PowerShell between tags, which calls the start script of EKS's images.

Its parameters: https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
"""

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data.registration import dns_address, flags

BOOTSTRAP = r"$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"


def part(_spec: NodeGroupSpec) -> str | None:
    """Nothing: EKS's own user data is enough, and the lab has no settings for Windows."""
    return None


def whole(spec: NodeGroupSpec, cluster: ClusterAddress) -> str:
    """The start script with the address of the cluster, so that it asks EKS nothing."""
    arguments = {
        "EKSClusterName": cluster.name,
        "APIServerEndpoint": cluster.endpoint,
        "Base64ClusterCA": cluster.certificate_authority,
        "DNSClusterIP": dns_address(cluster),
        "ServiceCIDR": cluster.service_cidr,
        "KubeletExtraArgs": " ".join(flags(spec)),
    }
    given = "".join(f" `\n  -{name} '{value}'" for name, value in arguments.items())
    return f'<powershell>\n& "{BOOTSTRAP}"{given}\n</powershell>\n'
