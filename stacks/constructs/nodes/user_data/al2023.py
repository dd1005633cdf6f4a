"""Amazon Linux 2023: nodeadm's NodeConfig, then a shell script, in one MIME document.

Schema of NodeConfig: https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/api/
"""

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data import mime
from stacks.constructs.nodes.user_data.registration import flags

HEAD = "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n"


def part(spec: NodeGroupSpec) -> str | None:
    """The lab's settings, which EKS merges with a NodeConfig of its own."""
    config = None
    if spec.max_pods is not None:
        config = f"{HEAD}  kubelet:\n{_max_pods(spec)}"
    return mime.document([(mime.NODE_CONFIG, config), (mime.SHELL_SCRIPT, spec.start_script)])


def whole(spec: NodeGroupSpec, cluster: ClusterAddress) -> str | None:
    """A NodeConfig with the four values of the cluster, which nodeadm asks nobody for."""
    config = (
        f"{HEAD}  cluster:\n"
        f"    name: {cluster.name}\n"
        f"    apiServerEndpoint: {cluster.endpoint}\n"
        f"    certificateAuthority: {cluster.certificate_authority}\n"
        f"    cidr: {cluster.service_cidr}\n"
        f"  kubelet:\n{_max_pods(spec)}    flags:\n"
    )
    config += "".join(f'    - "{flag}"\n' for flag in flags(spec))
    return mime.document([(mime.NODE_CONFIG, config), (mime.SHELL_SCRIPT, spec.start_script)])


def _max_pods(spec: NodeGroupSpec) -> str:
    return f"    config:\n      maxPods: {spec.max_pods}\n" if spec.max_pods is not None else ""
