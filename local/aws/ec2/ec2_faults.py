"""Switchable faults of the embedded AWS: what goes wrong outside, as a lab would see it on AWS.

Only states what is broken; the texts are those of AWS, the consequences belong to EC2, Auto Scaling and EKS.
"""

from dataclasses import dataclass, field

#: vCPUs that an instance of the type counts against a quota; others count by the size's usual number.
VCPUS = {"t3.medium": 2, "g5.xlarge": 4, "g4dn.xlarge": 4, "g6.xlarge": 4, "g6e.xlarge": 4}
SIZES = {"medium": 2, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "12xlarge": 48}
SIZES |= {"16xlarge": 64, "24xlarge": 96, "48xlarge": 192}


ALL = "*"


def vcpus(instance_type: str) -> int:
    """vCPUs of one instance of the type."""
    return VCPUS.get(instance_type) or SIZES.get(instance_type.partition(".")[2], 4)


@dataclass
class Faults:
    """All off at first. Set and clear them at any time; they act on what happens from then on."""

    _no_capacity: set[str] = field(default_factory=set)
    gpu_vcpu_quota: int | None = None
    #: The same, while the fault vcpu-quota is on.
    full_quota: int | None = None
    boot_factor: float = 1.0
    _few: dict[str, int] = field(default_factory=dict)
    _stuck: set[str] = field(default_factory=set)
    _endless: set[str] = field(default_factory=set)
    _reverted: set[str] = field(default_factory=set)

    def no_capacity(self, zone_or_type: str) -> None:
        """No more instances in this zone, or of this type."""
        self._no_capacity.add(zone_or_type)

    def few(self, instance_type: str, instances: int) -> None:
        """EC2 has capacity for so many instances of this type at once."""
        self._few[instance_type] = instances

    def quota(self, gpu_vcpus: int) -> None:
        """The account may run so many vCPUs of G and VT instances (L-DB2E81BA), no more."""
        self.gpu_vcpu_quota = gpu_vcpus

    def slow_boot(self, factor: float) -> None:
        """Instances take `factor` times as long from pending to running."""
        self.boot_factor = factor

    def stuck_termination(self, instance_type: str = ALL) -> None:
        """Instances, of this type alone where one is named, stay in shutting-down until this is cleared."""
        self._stuck.add(instance_type)

    def stuck(self, instance_type: str) -> bool:
        """Whether an instance of the type does not get out of shutting-down now."""
        return bool({instance_type, ALL} & self._stuck)

    def endless_updates(self, nodegroup: str) -> None:
        """Updates of the node group's sizes stay InProgress until this is cleared."""
        self._endless.add(nodegroup)

    def endless(self, nodegroup: str) -> bool:
        """Whether an update of the node group does not come to its end now."""
        return nodegroup in self._endless

    def revert_scale_up(self, nodegroup: str = ALL) -> None:
        """EKS takes a scale-up back, of this node group alone where one is named, when its launches fail."""
        self._reverted.add(nodegroup)

    def reverts(self, nodegroup: str) -> bool:
        """Whether EKS takes a failed scale-up of the node group back now."""
        return bool({nodegroup, ALL} & self._reverted)

    def clear(self, only: str | None = None) -> None:
        """Everything works again, or what was said of one instance type, zone or node group."""
        for named in (self._no_capacity, self._stuck, self._endless, self._reverted):
            named.intersection_update(named - {only} if only else ())
        if only:
            self._few.pop(only, None)
            return
        self._few.clear()
        self.gpu_vcpu_quota, self.boot_factor = None, 1.0

    @property
    def gpu_vcpu_limit(self) -> int | None:
        """How many vCPUs of G and VT instances the account may run now; None: as many as it likes."""
        given = [each for each in (self.gpu_vcpu_quota, self.full_quota) if each is not None]
        return min(given, default=None)

    def limits(self, instance_type: str) -> bool:
        """Whether it matters how many instances run."""
        return self.gpu_vcpu_limit is not None or instance_type in self._few

    def refusal(
        self, instance_type: str, zone: str, other_zones: list[str], running: list[str]
    ) -> str | None:
        """Why EC2 would not launch one more, as an Auto Scaling activity words it; None: it would.

        `running` are the types of all instances that run.
        """
        none_left = running.count(instance_type) >= self._few.get(instance_type, len(running) + 1)
        if none_left or {instance_type, zone} & self._no_capacity:
            return self.insufficient(instance_type, zone, other_zones)
        limit = self.gpu_vcpu_limit
        wanted = gpu_vcpus([*running, instance_type])
        if limit is not None and counts_as_gpu(instance_type) and wanted > limit:
            return (
                "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU"
                f" capacity than your current vCPU limit of {limit} allows for the instance bucket that"
                " the specified instance type belongs to. Please visit"
                " http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit."
                " Launching EC2 instance failed."
            )
        return None

    def insufficient(self, instance_type: str, zone: str, other_zones: list[str]) -> str:
        """EC2 has none left there, as an Auto Scaling activity words it."""
        elsewhere = ", ".join(other for other in other_zones if other not in self._no_capacity)
        hint = f" or choosing {elsewhere}" if elsewhere else ""
        return (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not"
            f" have sufficient {instance_type} capacity in the Availability Zone you requested ({zone})."
            " Our system will be working on provisioning additional capacity. You can currently get"
            f" {instance_type} capacity by not specifying an Availability Zone in your request{hint}."
            " Launching EC2 instance failed."
        )


def gpu_vcpus(running: list[str]) -> int:
    """vCPUs that these instances take of the quota "Running On-Demand G and VT instances"."""
    return sum(vcpus(each) for each in running if counts_as_gpu(each))


def counts_as_gpu(instance_type: str) -> bool:
    """Whether the quota "Running On-Demand G and VT instances" counts it."""
    return instance_type.startswith(("g3", "g4", "g5", "g6", "vt1"))
