"""A machine of a node group, as EC2 reports it to the simulator.

EC2 (local/aws) has the instances, their boot and their end. From `running` on, the fleet has the machine. local/faults
switches its faults.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """One running instance. `labels` and `taints` are those of its node group, in Kubernetes' form.

    `launched` is the virtual epoch of its launch. `private_dns` becomes the node's name, as on EKS.
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
        """Whether its image contains driver and container toolkit."""
        return "NVIDIA" in self.ami_type

    @property
    def brings_plugin(self) -> bool:
        """Whether its image contains a device plugin."""
        return self.nvidia_image and self.ami_type.startswith("BOTTLEROCKET")
