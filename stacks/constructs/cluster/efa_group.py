"""The security group of nodes with EFA: they may exchange everything with each other.

EFA's own traffic needs rules to and from the group itself. A rule by address does not allow it
(https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html).
"""

from aws_cdk import Tags
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks.constructs.cluster.security_groups import EVERYTHING, no_egress


class EfaGroup(Construct):
    """`id` is that of the group. A lab without such nodes has none."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, vpc_id: str) -> None:
        super().__init__(scope, construct_id)
        group = ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Nodes with EFA, among each other",
            security_group_egress=[no_egress("No other egress: the other groups of a node have it")],
        )
        Tags.of(group).add("Name", f"{name}-efa")
        self.id = group.attr_group_id
        ec2.CfnSecurityGroupIngress(
            self,
            "FromItself",
            group_id=self.id,
            source_security_group_id=self.id,
            ip_protocol=EVERYTHING,
            description="EFA from nodes of this group",
        )
        ec2.CfnSecurityGroupEgress(
            self,
            "ToItself",
            group_id=self.id,
            destination_security_group_id=self.id,
            ip_protocol=EVERYTHING,
            description="EFA to nodes of this group",
        )
