"""What a snapshot is about: a pool, the kind of its capacity, and what its leases expect."""

from dataclasses import dataclass

from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.diagnosis.expected import Expected
from lamplighter.lab.kinds import Code


@dataclass(frozen=True)
class Subject:
    """The pool that the snapshot is about, and the kind of its capacity."""

    kind: Code
    names: Identity
    expected: Expected
    launching_role: str | None = None
    """The IAM role that launches a NodePool's instances, by name; the failsafe puts its lock on it."""
    launch_bar: str = ""
    """The ConfigMap with the end of a NodePool's launch bar."""
