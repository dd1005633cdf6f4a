"""What kubelet tells the cluster of a node that boots by our own user data: EKS's labels of the group, and its taints.

EKS's own user data has these labels, and our programs find a group's nodes by the first. The lab's labels are EKS's to
set: a change of them then replaces no node.
"""

from collections.abc import Mapping

from aws_cdk import Fn

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec

DNS_HOST = "10"
"""EKS's cluster DNS has the address .10 of the service network (EKS user guide, launch templates)."""


def labels(spec: NodeGroupSpec) -> Mapping[str, str]:
    """EKS's labels of a node."""
    return {
        "eks.amazonaws.com/nodegroup": spec.name,
        "eks.amazonaws.com/nodegroup-image": spec.image or "",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
    }


def flags(spec: NodeGroupSpec) -> list[str]:
    """Kubelet's flags for labels and taints."""
    named = ",".join(f"{key}={value}" for key, value in labels(spec).items())
    taints = ",".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in spec.taints)
    return [f"--node-labels={named}", *([f"--register-with-taints={taints}"] if taints else [])]


def dns_address(cluster: ClusterAddress) -> str:
    """The address of the cluster's DNS, taken from the service network when the stack is deployed."""
    parts = Fn.split(".", cluster.service_cidr)
    return Fn.join(".", [*(Fn.select(index, parts) for index in range(3)), DNS_HOST])
