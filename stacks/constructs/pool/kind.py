"""What the stacks ask of a pool, whatever kind of capacity it is: its constructs in the cluster, its calls to zero.

The IAM statements about a kind are in capacity/.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from aws_cdk import aws_iam as iam
from constructs import IDependable

from lamplighter.domain.capacity.calls import Call
from lamplighter.domain.capacity.node_group.edit import NodeGroupSides


@dataclass(frozen=True)
class Rail:
    """A call by which the curfew brings a pool to zero, and how long after the first one it comes."""

    name: str
    later: timedelta
    call: Call


class PoolConstruct(Protocol):
    """The resources of one pool in the cluster stack."""

    @property
    def roles(self) -> Sequence[iam.Role]:
        """The roles of its nodes."""
        ...

    def edits(self) -> Mapping[str, NodeGroupSides]:
        """What the first step of a deploy compares with what is deployed, by the name of the node group."""
        ...

    def comes_after(self, *others: IDependable) -> None:
        """The pool and its gate come after all these, so that the gate is closed for a short time only."""
        ...
