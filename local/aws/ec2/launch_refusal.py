"""Why EC2 does not launch an instance: its error code and its words. A fleet and an Auto Scaling group tell it in their
own forms.
"""

from dataclasses import dataclass

#: Codes that an Auto Scaling activity puts before the words. Others it tells without their code.
_NAMED = frozenset({"InsufficientInstanceCapacity", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded"})


@dataclass(frozen=True)
class LaunchRefusal:
    """`code` and `message` are EC2's, as the errors of a fleet have them."""

    code: str
    message: str

    def activity(self) -> str:
        """The refusal as the status message of an Auto Scaling activity."""
        named = self.code in _NAMED
        start = f"Could not launch On-Demand Instances. {self.code} - " if named else ""
        return f"{start}{self.message} Launching EC2 instance failed."
