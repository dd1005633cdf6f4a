"""User data by the family of the image. A file a family writes it whole for an image of the user's, else in part.

EKS merges a part with its own user data. It adds nothing for an image of the user's: then the node's name of the
cluster, address, certificate and service network are ours.
"""

from aws_cdk import Fn

from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data import al2, al2023, bottlerocket, windows

_FAMILIES = {"al2023": al2023, "al2": al2, "bottlerocket": bottlerocket, "windows": windows}


def user_data(spec: NodeGroupSpec, cluster: ClusterAddress | None) -> str | None:
    """The user data of a launch template, in base64; None where EKS's own is enough.

    `cluster` is needed for an image of the user's.
    """
    of_family = _FAMILIES[spec.family]
    if not spec.custom:
        text = of_family.part(spec)
    elif cluster is None:
        raise ValueError(f"node group {spec.name} has its own image, and nobody said which cluster it joins")
    else:
        text = of_family.whole(spec, cluster)
    return None if text is None else Fn.base64(text)
