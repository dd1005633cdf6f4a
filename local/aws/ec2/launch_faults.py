"""Why Auto Scaling cannot launch an instance for a node group while a fault is on, in AWS's words."""

from dataclasses import dataclass

from local.aws.ec2.ec2_faults import Faults
from local.faults.switches import Switches
from local.fleet.gpus.hardware import has_gpus

_FAILED = " Launching EC2 instance failed."


@dataclass(frozen=True)
class Launch:
    """One planned launch: for which node group ("" for none), which type, and where."""

    nodegroup: str
    instance_type: str
    subnet: str
    zone: str
    other_zones: list[str]


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

    def refusal(self, launch: Launch, running: list[str]) -> str | None:
        """Why the launch fails, in the words of an Auto Scaling activity; None if it succeeds."""
        if self._on("no-capacity", launch):
            return self._faults.insufficient(launch.instance_type, launch.zone, launch.other_zones)
        if self._on("launch-denied", launch):
            return self._denied()
        if self._on("no-addresses", launch):
            return (
                f"There are not enough free addresses in subnet '{launch.subnet}' to satisfy the requested"
                f" number of instances.{_FAILED}"
            )
        return self._faults.refusal(launch.instance_type, launch.zone, launch.other_zones, running)

    def _denied(self) -> str:
        who = f"arn:aws:sts::{self._account_id}:assumed-role/AWSServiceRoleForAutoScaling/AutoScaling"
        what = f"arn:aws:ec2:{self._region}:{self._account_id}:instance/*"
        return (
            f"You are not authorized to perform this operation. User: {who} is not authorized to perform:"
            f" ec2:RunInstances on resource: {what} with an explicit deny in a service control policy.{_FAILED}"
        )

    def _on(self, fault: str, launch: Launch) -> bool:
        # The system nodes belong to no pool.
        return has_gpus(launch.instance_type) and self._switches.holds(fault, launch.nodegroup)
