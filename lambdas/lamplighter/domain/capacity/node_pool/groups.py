"""The Kubernetes groups of a lab's functions and of its failsafe, for its NodePools.

They carry the lab's name: two labs may share a cluster, and none may size the NodePools or move the bars of the other.
access.py says what each may do.
"""

from enum import StrEnum


class Group(StrEnum):
    """A group, without the name of its lab."""

    POOLS = "pools"
    """Sees the NodePools, their claims and the launch bar."""
    CAPACITY = "capacity"
    """Sees and sizes the NodePools, and ends chosen claims."""
    BAR = "bar"
    """Moves the launch bar and reads it back, and sees the NodePools."""
    CONTROLLER = "controller"
    """Sees whether Karpenter itself runs."""
    GATEKEEPER = "gatekeeper"
    """At a deploy: sees the NodePools, and tries the bar."""
    FAILSAFE = "failsafe"
    """Without any function: size zero, and the claims deleted. It can add no node."""
    DIAGNOSIS = "diagnosis"
    """Also reads what NodePools are made of."""
    DOCTOR = "doctor"
    """Also examines the NodePools, and tries the bar."""

    def of(self, lab: str) -> str:
        """Its name in the cluster, for the lab of this name."""
        return f"lamplighter:{lab}:{self.value}"
