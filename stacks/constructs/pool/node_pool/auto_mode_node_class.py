"""The NodeClass of a pool of EKS Auto Mode: network, disk and role. EKS chooses the image and takes no user data.

Its fields: https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html. It has no tags: EKS would need more
rights of the cluster's role for them, and the proof of zero goes by EKS's own tags.
"""

from collections.abc import Mapping, Sequence

from lamplighter.data import instance_types
from lamplighter.lab.model import Lab
from stacks.constructs.nodes.efa import with_addresses

GROUP, KIND = "eks.amazonaws.com", "NodeClass"


def auto_mode_node_class(
    lab: Lab, pool: str, *, role: str, subnets: Sequence[str], security_groups: Sequence[str]
) -> Mapping[str, object]:
    """The manifest. `role`, `subnets` and `security_groups` are names and ids of a deploy."""
    of_pool = lab.pools[pool]
    known = instance_types.gpu_type(of_pool.instance_type)
    networking = (
        {"advancedNetworking": {"networkInterfaces": with_addresses(known)}} if of_pool.efa and known else {}
    )
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {
            "name": lab.node_pool_name(pool),
            "labels": {"app.kubernetes.io/part-of": "lamplighter"},
        },
        "spec": {
            "role": role,
            "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
            "securityGroupSelectorTerms": [{"id": group} for group in security_groups],
            "ephemeralStorage": {"size": f"{of_pool.disk_gib}Gi"},
            **networking,
        },
    }
