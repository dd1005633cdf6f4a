"""The claim of a lab on the capacity of a pool: a deploy makes it, and a second deploy cannot make it again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabClaim:
    """What the parameter of a claim says."""

    lab: str
    overwritten: bool = False
    """Whether somebody changed it after it was made. No deploy does: it makes a claim, and fails where one is."""
