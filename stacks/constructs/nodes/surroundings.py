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
    """`address` is there if a group of the lab has an image of the user's."""

    lab: Lab
    names: Names
    cluster_name: str
    subnets: Sequence[ec2.CfnSubnet]
    security_groups: Sequence[str]
    gatekeeper: Function
    address: ClusterAddress | None
