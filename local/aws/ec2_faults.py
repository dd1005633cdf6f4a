"""Switchable faults of the embedded AWS: what goes wrong outside, as a lab would see it on AWS.

Only states what is broken; the texts are those of AWS, the consequences belong to EC2, Auto Scaling and EKS.
"""

from dataclasses import dataclass, field

#: vCPUs that an instance of the type counts against a quota; others count by the size's usual number.
VCPUS = {"t3.medium": 2, "g5.xlarge": 4, "g4dn.xlarge": 4, "g6.xlarge": 4, "g6e.xlarge": 4}
SIZES = {"medium": 2, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "12xlarge": 48}
SIZES |= {"16xlarge": 64, "24xlarge": 96, "48xlarge": 192}


def vcpus(instance_type: str) -> int:
    """vCPUs of one instance of the type."""
    return VCPUS.get(instance_type) or SIZES.get(instance_type.partition(".")[2], 4)


@dataclass
class Faults:
    """All off at first. Set and clear them at any time; they act on what happens from then on."""

    _no_capacity: set[str] = field(default_factory=set)
    gpu_vcpu_quota: int | None = None
    boot_factor: float = 1.0
    termination_stuck: bool = False
    scale_up_reverted: bool = False

    def no_capacity(self, zone_or_type: str) -> None:
        """No more instances in this zone, or of this type."""
        self._no_capacity.add(zone_or_type)

    def quota(self, gpu_vcpus: int) -> None:
        """The account may run so many vCPUs of G and VT instances (L-DB2E81BA), no more."""
        self.gpu_vcpu_quota = gpu_vcpus

    def slow_boot(self, factor: float) -> None:
        """Instances take `factor` times as long from pending to running."""
        self.boot_factor = factor

    def stuck_termination(self, stuck: bool = True) -> None:
        """Instances stay in shutting-down until this is switched off."""
        self.termination_stuck = stuck

    def revert_scale_up(self, reverted: bool = True) -> None:
        """EKS takes a scale-up back when its launches fail."""
        self.scale_up_reverted = reverted

    def clear(self) -> None:
        """Everything works again."""
        self._no_capacity.clear()
        self.gpu_vcpu_quota, self.boot_factor = None, 1.0
        self.termination_stuck = self.scale_up_reverted = False

    def refusal(
        self, instance_type: str, zone: str, other_zones: list[str], gpu_vcpus_running: int
    ) -> str | None:
        """Why EC2 would not launch one more, as an Auto Scaling activity words it; None: it would."""
        if {instance_type, zone} & self._no_capacity:
            elsewhere = ", ".join(other for other in other_zones if other not in self._no_capacity)
            hint = f" or choosing {elsewhere}" if elsewhere else ""
            return (
                "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not"
                f" have sufficient {instance_type} capacity in the Availability Zone you requested ({zone})."
                " Our system will be working on provisioning additional capacity. You can currently get"
                f" {instance_type} capacity by not specifying an Availability Zone in your request{hint}."
                " Launching EC2 instance failed."
            )
        limit = self.gpu_vcpu_quota
        wanted = gpu_vcpus_running + vcpus(instance_type)
        if limit is not None and counts_as_gpu(instance_type) and wanted > limit:
            return (
                "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU"
                f" capacity than your current vCPU limit of {limit} allows for the instance bucket that"
                " the specified instance type belongs to. Please visit"
                " http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."
                " Launching EC2 instance failed."
            )
        return None


def counts_as_gpu(instance_type: str) -> bool:
    """Whether the quota "Running On-Demand G and VT instances" counts it."""
    return instance_type.startswith(("g3", "g4", "g5", "g6", "vt1"))
