"""Faults of the embedded AWS that can be switched on, as a lab would see them on AWS.

This file only holds what is broken. The texts are AWS's; EC2, Auto Scaling and EKS carry out the consequences.
"""

from dataclasses import dataclass, field

from local.aws.ec2.launch_refusal import LaunchRefusal

#: vCPUs of an instance type in a quota; other types count by the usual number of their size.
VCPUS = {"t3.medium": 2, "g5.xlarge": 4, "g4dn.xlarge": 4, "g6.xlarge": 4, "g6e.xlarge": 4}
SIZES = {"medium": 2, "large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16, "8xlarge": 32, "12xlarge": 48}
SIZES |= {"16xlarge": 64, "24xlarge": 96, "48xlarge": 192}


ALL = "*"


def vcpus(instance_type: str) -> int:
    """The vCPUs of one instance of the type."""
    return VCPUS.get(instance_type) or SIZES.get(instance_type.partition(".")[2], 4)


@dataclass
class Faults:
    """All faults are off at first. Set and clear them at any time; they affect what happens after that."""

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
        """No more instances in this zone, or of this type; of a type in one zone, as `g5.xlarge in us-west-2a`."""
        self._no_capacity.add(zone_or_type)

    def few(self, instance_type: str, instances: int) -> None:
        """EC2 has capacity for this many instances of the type at once."""
        self._few[instance_type] = instances

    def quota(self, gpu_vcpus: int) -> None:
        """The account may run this many vCPUs of G and VT instances (L-DB2E81BA), and no more."""
        self.gpu_vcpu_quota = gpu_vcpus

    def slow_boot(self, factor: float) -> None:
        """Instances take `factor` times as long from pending to running."""
        self.boot_factor = factor

    def stuck_termination(self, instance_type: str = ALL) -> None:
        """Instances stay in shutting-down until this is cleared; only those of the type, if one is named."""
        self._stuck.add(instance_type)

    def stuck(self, instance_type: str) -> bool:
        """Whether an instance of the type now stays in shutting-down."""
        return bool({instance_type, ALL} & self._stuck)

    def endless_updates(self, nodegroup: str) -> None:
        """Updates of the node group's sizes stay InProgress until this is cleared."""
        self._endless.add(nodegroup)

    def endless(self, nodegroup: str) -> bool:
        """Whether an update of the node group now never ends."""
        return nodegroup in self._endless

    def revert_scale_up(self, nodegroup: str = ALL) -> None:
        """EKS reverts a scale-up when its launches fail; only of the node group, if one is named."""
        self._reverted.add(nodegroup)

    def reverts(self, nodegroup: str) -> bool:
        """Whether EKS now reverts a failed scale-up of the node group."""
        return bool({nodegroup, ALL} & self._reverted)

    def clear(self, only: str | None = None) -> None:
        """Clears all faults, or those of one instance type, zone or node group."""
        for named in (self._no_capacity, self._stuck, self._endless, self._reverted):
            named.intersection_update(named - {only} if only else ())
        if only:
            self._few.pop(only, None)
            return
        self._few.clear()
        self.gpu_vcpu_quota, self.boot_factor = None, 1.0

    @property
    def gpu_vcpu_limit(self) -> int | None:
        """How many vCPUs of G and VT instances the account may run now; None without a limit."""
        given = [each for each in (self.gpu_vcpu_quota, self.full_quota) if each is not None]
        return min(given, default=None)

    def limits(self, instance_type: str) -> bool:
        """Whether the number of running instances matters."""
        return self.gpu_vcpu_limit is not None or instance_type in self._few

    def refusal(
        self, instance_type: str, zone: str, other_zones: list[str], running: list[str]
    ) -> LaunchRefusal | None:
        """Why EC2 would not launch one more on-demand instance; None if it would.

        `running` are the types of all running instances.
        """
        none_left = running.count(instance_type) >= self._few.get(instance_type, len(running) + 1)
        if none_left or self._short(instance_type, zone):
            return self.insufficient(instance_type, zone, other_zones)
        limit = self.gpu_vcpu_limit
        wanted = gpu_vcpus([*running, instance_type])
        if limit is not None and counts_as_gpu(instance_type) and wanted > limit:
            return LaunchRefusal(
                "VcpuLimitExceeded",
                f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for"
                " the instance bucket that the specified instance type belongs to. Please visit"
                " http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
            )
        return None

    def _short(self, instance_type: str, zone: str) -> bool:
        return bool({instance_type, zone, f"{instance_type} in {zone}"} & self._no_capacity)

    def insufficient(self, instance_type: str, zone: str, other_zones: list[str]) -> LaunchRefusal:
        """EC2 has no capacity left there."""
        elsewhere = ", ".join(other for other in other_zones if not self._short(instance_type, other))
        hint = f" or choosing {elsewhere}" if elsewhere else ""
        return LaunchRefusal(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you"
            f" requested ({zone}). Our system will be working on provisioning additional capacity. You can"
            f" currently get {instance_type} capacity by not specifying an Availability Zone in your"
            f" request{hint}.",
        )


def gpu_vcpus(running: list[str]) -> int:
    """vCPUs of these instances in the quota "Running On-Demand G and VT instances"."""
    return sum(vcpus(each) for each in running if counts_as_gpu(each))


def counts_as_gpu(instance_type: str) -> bool:
    """Whether the quota "Running On-Demand G and VT instances" counts the type."""
    return instance_type.startswith(("g3", "g4", "g5", "g6", "vt1"))
