"""A machine of a node group as the simulator is told about it, and how it may misbehave.

Instances, their boot and their end are EC2's (local/aws); from `running` on the machine is the fleet's.
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


@dataclass(frozen=True)
class Behaviour:
    """How a machine departs from a healthy one; the default departs in nothing."""

    slow_boot_seconds: float = 0
    joins: bool = True
    gpus_lost: int = 0
    """GPUs that the driver does not see, of those that the instance type has."""
    device_plugin_crashes: bool = False


HEALTHY = Behaviour()
