"""Why EC2 does not launch an instance: its error code and its words. A fleet and an Auto Scaling group tell it in their
own forms.
"""

from dataclasses import dataclass

#: Codes that an Auto Scaling activity puts before the words. Others it tells without their code.
_NAMED = frozenset({"InsufficientInstanceCapacity", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded"})


NO_SPOT = "There is no Spot capacity available that matches your request."


@dataclass(frozen=True)
class LaunchRefusal:
    """`code` and `message` are EC2's, as the errors of a fleet have them."""

    code: str
    message: str

    def activity(self, *, spot: bool = False) -> str:
        """The refusal as the status message of an Auto Scaling activity."""
        named = self.code in _NAMED
        bought = "Spot" if spot else "On-Demand"
        start = f"Could not launch {bought} Instances. {self.code} - " if named else ""
        # cookpad/terraform-aws-eks 226
        message = NO_SPOT if spot and self.code == "InsufficientInstanceCapacity" else self.message
        return f"{start}{message} Launching EC2 instance failed."
