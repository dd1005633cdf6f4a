"""The failsafe's state machine with its role, the role's boundary, its access entry, and the page when it fails.

EventBridge Scheduler starts it; the leases function keeps those schedules. No function of ours takes part in a run.
"""

import json
from collections.abc import Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.off_switch import MACHINE
from lamplighter.lab.model import Lab
from stacks.constructs.accepted import accept
from stacks.constructs.channels import Channels
from stacks.constructs.failed_runs import page_failed_runs
from stacks.constructs.failsafe.definition import definition
from stacks.constructs.failsafe.ended_pool import EndedPool, ended_pools
from stacks.constructs.failsafe.rights import rights
from stacks.constructs.grants import boundary
from stacks.constructs.policy_parts import give
from stacks.names import Names

ROLE = "failsafe-machine"
"""The purpose of its role; `failsafe` is the role of the schedules."""


def failsafe_machine(scope: Construct, lab: Lab, names: Names, channels: Channels) -> list[Construct]:
    """The machine of a lab with NodePools; nothing for one without."""
    pools = ended_pools(lab)
    if not pools:
        return []
    machine = FailsafeMachine(
        scope,
        "FailsafeMachine",
        names=names,
        pools=pools,
        pages=channels.pages,
        dead_letters=channels.dead_letters,
    )
    return [machine]


class FailsafeMachine(Construct):
    """`<lab>-failsafe`, for the pools of a lab that are NodePools."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        pools: Sequence[EndedPool],
        pages: sns.ITopic,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        granted = rights(names, pools)
        held = boundary(
            self,
            "Boundary",
            name=names.policy(ROLE),
            description=f"The most that the failsafe of {names.lab} may ever do",
            leaves=granted,
        )
        role = iam.Role(
            self,
            "Role",
            role_name=names.role(ROLE),
            assumed_by=iam.ServicePrincipal("states.amazonaws.com"),
            permissions_boundary=held,
            description=f"What the state machine {names.workflow(MACHINE)} may do",
        )
        policy = give(self, "RolePermissions", role, granted)
        self.machine = sfn.CfnStateMachine(
            self,
            "Machine",
            state_machine_name=names.workflow(MACHINE),
            state_machine_type="STANDARD",
            role_arn=role.role_arn,
            # CDK's own way to JSON drops every null, and a null keeps the result of a state out of its output.
            definition_string=json.dumps(definition(names.lab, names.cluster, pools)),
        )
        self.machine.node.add_dependency(policy)
        accept(
            self.machine, "SF1", "Step Functions keeps every step for 90 days, and nothing is secret in it."
        )
        accept(self.machine, "SF2", "The history has each step with its time; a trace would show the same.")
        eks.CfnAccessEntry(
            self,
            "Access",
            cluster_name=names.cluster,
            principal_arn=role.role_arn,
            kubernetes_groups=[Group.FAILSAFE.of(names.lab)],
            type="STANDARD",
        )
        page_failed_runs(
            self,
            "Leaked",
            rule_name=f"{names.lab}-failsafe-leaked",
            description="The failsafe could not prove that a pool is at zero",
            machine_arn=self.machine.attr_arn,
            pages=pages,
            dead_letters=dead_letters,
        )
