"""A machine of a cluster, as EC2 reports it to the simulator.

EC2 (local/aws) has the instances, their boot and their end. From `running` on, the fleet has the machine. local/faults
switches its faults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from local.fleet.boot.images import Family, Image, image_of


@dataclass(frozen=True)
class Machine:
    """One running instance. `labels` and `taints` are those of its user data, in Kubernetes' form.

    `nodegroup` is its node group, or the NodePool for which Karpenter started it; faults affect it by this name.
    `launched` is the virtual epoch of its launch. `private_dns` becomes the node's name, as on EKS. `ami_type` is the
    amiType of its image, or for a custom image the one that it is like. `cannot_join` says why its kubelet never
    starts; "" if it does. EKS itself sets `later_labels` and `later_taints` when the node has joined. With
    `gpus_at_ready` the device plugin of the image is there as soon as the node is Ready. `pod_addresses` are all
    that its pods ever have; None where the node gets more of them as pods come. `efa` is the number of its EFA
    interfaces.
    """

    instance_id: str
    instance_type: str
    zone: str
    private_ip: str
    private_dns: str
    cluster: str
    nodegroup: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    ami_type: str
    max_pods: int
    launched: float
    kubernetes_version: str = "1.35"
    cannot_join: str = ""
    later_labels: Mapping[str, str] = field(default_factory=dict)
    later_taints: Sequence[Mapping[str, str]] = ()
    gpus_at_ready: bool = False
    pod_addresses: int | None = None
    efa: int = 0

    @property
    def node_name(self) -> str:
        return self.private_dns

    @property
    def region(self) -> str:
        return self.zone[:-1]

    @property
    def image(self) -> Image:
        return image_of(self.ami_type)

    @property
    def nvidia_image(self) -> bool:
        """Whether its image contains driver and container toolkit."""
        return self.image.nvidia

    @property
    def brings_plugin(self) -> bool:
        """Whether its image contains a device plugin."""
        return self.nvidia_image and self.image.family is Family.BOTTLEROCKET
