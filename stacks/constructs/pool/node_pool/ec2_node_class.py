"""The EC2NodeClass of a pool of Karpenter: image, disks, network and role of its nodes.

Its fields: https://karpenter.sh/v1.14/concepts/nodeclasses/. Karpenter adds what a node needs to join the cluster.
"""

from collections.abc import Mapping, Sequence

from lamplighter.data import instance_types
from lamplighter.lab.model import Lab
from lamplighter.values.lab_tag import LAB_TAG
from stacks.constructs.nodes.efa import interfaces
from stacks.constructs.nodes.start_script import start_script
from stacks.constructs.nodes.user_data import mime

GROUP, KIND = "karpenter.k8s.aws", "EC2NodeClass"
#: Bottlerocket's system; its images and pods are on the second disk, which the lab sizes.
SYSTEM_GIB = 4


def ec2_node_class(
    lab: Lab, pool: str, *, profile: str, subnets: Sequence[str], security_groups: Sequence[str]
) -> Mapping[str, object]:
    """The manifest. `profile`, `subnets` and `security_groups` are names and ids of a deploy."""
    of_pool = lab.pools[pool]
    spec: dict[str, object] = {
        # An alias has the version in it: an image that moves under a running lab would be drift.
        "amiSelectorTerms": [{"alias": of_pool.image}],
        "instanceProfile": profile,
        "subnetSelectorTerms": [{"id": subnet} for subnet in subnets],
        "securityGroupSelectorTerms": [{"id": group} for group in security_groups],
        "blockDeviceMappings": _disks(bottlerocket=of_pool.family == "bottlerocket", gib=of_pool.disk_gib),
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpTokens": "required",
            "httpPutResponseHopLimit": lab.cluster.hop_limit(of_pool.metadata_hop_limit),
        },
        "tags": {**lab.tags, LAB_TAG: lab.name, "lamplighter:pool": pool},
    }
    known = instance_types.gpu_type(of_pool.instance_type)
    if of_pool.efa and known:
        spec["networkInterfaces"] = interfaces(known)
    # Bottlerocket runs no script.
    script = None if of_pool.family == "bottlerocket" else start_script(of_pool.family, of_pool.packages)
    user_data = mime.document([(mime.SHELL_SCRIPT, script)])
    if user_data is not None:
        spec["userData"] = user_data
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {
            "name": lab.node_pool_name(pool),
            "labels": {"app.kubernetes.io/part-of": "lamplighter"},
        },
        "spec": spec,
    }


def _disks(*, bottlerocket: bool, gib: int) -> list[Mapping[str, object]]:
    if bottlerocket:
        return [_disk("/dev/xvda", SYSTEM_GIB), _disk("/dev/xvdb", gib)]
    return [_disk("/dev/xvda", gib)]


def _disk(device: str, gib: int) -> Mapping[str, object]:
    ebs = {"volumeSize": f"{gib}Gi", "volumeType": "gp3", "encrypted": True, "deleteOnTermination": True}
    return {"deviceName": device, "ebs": ebs}
