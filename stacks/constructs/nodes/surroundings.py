"""The parts of the cluster stack that node groups and pools are made in."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2

from lamplighter.lab.model import Lab
from stacks.constructs.functions.functions import Function
from stacks.constructs.nodes.spec import ClusterAddress
from stacks.names import Names


@dataclass(frozen=True)
class Surroundings:
    """`address` is there if a group of the lab has an image of the user's, `efa_group` if a pool has EFA."""

    lab: Lab
    names: Names
    cluster_name: str
    subnets: Sequence[ec2.CfnSubnet]
    security_groups: Sequence[str]
    gatekeeper: Function
    address: ClusterAddress | None
    efa_group: str | None = None

    def groups_of(self, pool: str) -> Sequence[str]:
        """The security groups of a pool's nodes."""
        efa = [self.efa_group] if self.efa_group and self.lab.pools[pool].efa else []
        return [*self.security_groups, *efa]
