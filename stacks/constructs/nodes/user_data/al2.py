"""Amazon Linux 2: shell scripts in a MIME document. The last one of a node runs /etc/eks/bootstrap.sh.

EKS has it for Kubernetes 1.32 and earlier, and makes no new images.
"""

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data import mime
from stacks.constructs.nodes.user_data.registration import dns_address, flags

BOOTSTRAP = "/etc/eks/bootstrap.sh"


def part(spec: NodeGroupSpec) -> str | None:
    """Scripts that run before EKS's own, which calls bootstrap.sh."""
    pods = None
    if spec.max_pods is not None:
        # EKS calls bootstrap.sh with a number of its own among kubelet's flags; of two flags the last one counts.
        pods = (
            "#!/bin/bash\nset -e\n"
            f"sed -i 's/^KUBELET_EXTRA_ARGS=.*/&\\nKUBELET_EXTRA_ARGS+=\" --max-pods={spec.max_pods}\"/' {BOOTSTRAP}\n"
        )
    return mime.document([(mime.SHELL_SCRIPT, pods), (mime.SHELL_SCRIPT, spec.start_script)])


def whole(spec: NodeGroupSpec, cluster: ClusterAddress) -> str | None:
    """The lab's script, then bootstrap.sh with the address of the cluster, so that it asks EKS nothing."""
    extra = flags(spec)
    if spec.max_pods is not None:
        extra.append(f"--max-pods={spec.max_pods}")
    bootstrap = (
        f"#!/bin/bash\nset -e\n{BOOTSTRAP} {cluster.name} \\\n"
        f"  --apiserver-endpoint {cluster.endpoint} \\\n"
        f"  --b64-cluster-ca {cluster.certificate_authority} \\\n"
        f"  --dns-cluster-ip {dns_address(cluster)} \\\n"
        f"  --use-max-pods {'true' if spec.max_pods is None else 'false'} \\\n"
        f"  --kubelet-extra-args '{' '.join(extra)}'\n"
    )
    return mime.document([(mime.SHELL_SCRIPT, spec.start_script), (mime.SHELL_SCRIPT, bootstrap)])
