"""The IAM statements about NodePools: Kubernetes has their size, EC2 what runs, and the failsafe's machine the way out.

What the functions may do in Kubernetes is in lamplighter.domain.capacity.node_pool.access.
"""

from collections.abc import Sequence

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool.off_switch import MACHINE
from lamplighter.domain.capacity.node_pool.roles import launching_role_path
from lamplighter.lab.model import Lab
from stacks.constructs.grants import Grants
from stacks.names import Names

_EC2_ENDS = "karpenter"
"""The kind whose instances a customer may end. AWS denies that for Auto Mode's."""


class NodePoolRights:
    """The IAM statements about the pools that are NodePools, of one kind."""

    def __init__(self, lab: Lab, names: Names, kind: str) -> None:
        self._lab, self._names, self._kind = lab, names, kind
        self._pools = [pool for pool, of_lab in lab.pools.items() if of_lab.kind == kind]

    def off_switch(self) -> list[Grants]:
        """Starting the failsafe's machine."""
        return [Grants(["states:StartExecution"], [self._names.workflow_arn(MACHINE)])]

    def describing(self) -> list[Grants]:
        """Finding the cluster's API, which has the NodePools."""
        return [Grants(["eks:DescribeCluster"], [self._names.cluster_arn])]

    def seeing(self) -> list[Grants]:
        """Reading the NodePools, and the instances with their tags."""
        return [
            *self.describing(),
            Grants(["ec2:DescribeInstances"], ["*"], wide="EC2 takes no resource for reading."),
        ]

    def sizing(self) -> list[Grants]:
        """An opening takes the failsafe's lock off the role that launches the instances."""
        return self._unlocking(self._pools)

    def _unlocking(self, pools: Sequence[str]) -> list[Grants]:
        roles = dict.fromkeys(launching_role_path(self._lab, pool) for pool in pools)
        locked = [self._names.any_role_arn(role) for role in roles if role is not None]
        return [Grants(["iam:DeleteRolePolicy"], locked)] if locked else []

    def ending_strays(self) -> list[Grants]:
        """Ending instances with a pool's tags that no claim counts."""
        if self._kind != _EC2_ENDS:
            return []
        tags: dict[str, object] = {
            f"ec2:ResourceTag/{key}": _all_of([identity(self._lab, pool).tags[key] for pool in self._pools])
            for key in identity(self._lab, self._pools[0]).tags
        }
        return [
            Grants(
                ["ec2:TerminateInstances"],
                [self._names.arn("ec2", "instance/*")],
                {"StringEquals": tags},
                wide="Instances come and go; the condition on Karpenter's tags names the pool they belong to.",
            )
        ]

    def bounding(self) -> list[Grants]:
        """Reading the NodePools at a deploy; kubectl writes their bounds. With a pool of ours its lock goes."""
        ours = [pool for pool in self._pools if self._lab.pools[pool].existing is None]
        return [*self.describing(), *self._unlocking(ours)]


def _all_of(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))
