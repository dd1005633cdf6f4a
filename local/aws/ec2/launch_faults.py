"""Why EC2 cannot launch an instance for a pool while a fault is on. Node groups and fleets launch through it."""

from dataclasses import dataclass

from local.aws.ec2.ec2_faults import Faults
from local.aws.ec2.launch_refusal import LaunchRefusal
from local.faults.switches import Switches
from local.fleet.gpus.hardware import has_gpus

#: Who launches for a node group, after the account in the ARN.
AUTO_SCALING = "assumed-role/AWSServiceRoleForAutoScaling/AutoScaling"


@dataclass(frozen=True)
class Launch:
    """One planned launch: for which pool, which type, where, and by whom.

    `pool` is the name of its node group or NodePool, "" for none. `by` is the session that launches.
    """

    pool: str
    instance_type: str
    subnet: str
    zone: str
    other_zones: list[str]
    by: str
    spot: bool = False


class LaunchFaults:
    """Faults that are switched on by the name of a cause come first, then those of `faults`."""

    def __init__(self, faults: Faults, switches: Switches, account_id: str, region: str) -> None:
        self._faults = faults
        self._switches = switches
        self._account_id = account_id
        self._region = region

    def limits(self, instance_type: str) -> bool:
        """Whether the number of running instances matters."""
        return self._faults.limits(instance_type)

    def refusal(self, launch: Launch, running: list[str]) -> LaunchRefusal | None:
        """Why the launch fails; None if it succeeds."""
        if self._on("no-capacity", launch):
            return self._faults.insufficient(launch.instance_type, launch.zone, launch.other_zones)
        if self._on("launch-denied", launch):
            return self._denied(launch.by)
        if self._on("no-addresses", launch):
            return LaunchRefusal(
                "InsufficientFreeAddressesInSubnet",
                f"There are not enough free addresses in subnet '{launch.subnet}' to satisfy the requested"
                " number of instances.",
            )
        refusal = self._faults.refusal(launch.instance_type, launch.zone, launch.other_zones, running)
        if launch.spot and refusal is not None and refusal.code == "VcpuLimitExceeded":
            # Spot has a quota of its own. Here one fault lowers both.
            return LaunchRefusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        return refusal

    def _denied(self, by: str) -> LaunchRefusal:
        what = f"arn:aws:ec2:{self._region}:{self._account_id}:instance/*"
        # The whole text, for a fleet: aws/karpenter-provider-aws 7370.
        return LaunchRefusal(
            "UnauthorizedOperation",
            f"You are not authorized to perform this operation. User: {by} is not authorized to perform:"
            f" ec2:RunInstances on resource: {what} with an explicit deny in a service control policy.",
        )

    def _on(self, fault: str, launch: Launch) -> bool:
        # The system nodes belong to no pool.
        return has_gpus(launch.instance_type) and self._switches.holds(fault, launch.pool)
