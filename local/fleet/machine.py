"""A machine of a node group as the simulator is told about it.

Instances, their boot and their end are EC2's (local/aws); from `running` on the machine is the fleet's. How
it may misbehave is switched in local/faults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """One running instance; `labels` and `taints` are those of its node group, taints as Kubernetes writes them.

    `launched` is the virtual epoch of its launch; `private_dns` becomes the node's name, as on EKS.
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

    @property
    def node_name(self) -> str:
        return self.private_dns

    @property
    def region(self) -> str:
        return self.zone[:-1]

    @property
    def nvidia_image(self) -> bool:
        """Whether its image brings driver and container toolkit."""
        return "NVIDIA" in self.ami_type

    @property
    def brings_plugin(self) -> bool:
        """Whether its image has a device plugin of its own."""
        return self.nvidia_image and self.ami_type.startswith("BOTTLEROCKET")
