"""The schedule group of the lab and the three roles its schedules act with.

Functions create the schedules at run time: the planner for windows, the leases function for the failsafe, the
experiments function for undoing an experiment. The failsafe's role can only lower the size of the pools; the failsafe
works with every function deleted. The role of the restores can restore security-group rules and start the workflow
that undoes the rest.
"""

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from stacks.constructs.functions.permissions import Permissions
from stacks.constructs.grants import Grants
from stacks.constructs.policy_parts import give
from stacks.names import FAILSAFE, RESTORES, WINDOWS, Names


class Schedules(Construct):
    """One group; deleting it deletes every schedule in it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        permissions: Permissions,
        dead_letters_arn: str,
        failsafe_failed_arn: str,
        looks_again: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = scheduler.CfnScheduleGroup(self, "Group", name=names.schedule_group)
        undelivered = Grants(["sqs:SendMessage"], [dead_letters_arn])
        self.failsafe_role = self._role(
            "FailsafeRole",
            names,
            FAILSAFE,
            [
                *permissions.capacity.off_switch(),
                # Schedules of an earlier release use the other queue.
                Grants(["sqs:SendMessage"], [failsafe_failed_arn, dead_letters_arn]),
            ],
        )
        self.window_role = self._role(
            "WindowRole",
            names,
            WINDOWS,
            [
                permissions.starting("open", "close"),
                permissions.invoking("notices", *(["doctor"] if looks_again else [])),
                undelivered,
            ],
        )

        self.restore_role = self._role(
            "RestoreRole",
            names,
            RESTORES,
            [
                *permissions.changing_rules("AuthorizeSecurityGroupIngress"),
                permissions.starting("experiment"),
                undelivered,
            ],
        )

    def _role(self, construct_id: str, names: Names, purpose: str, leaves: list[Grants]) -> iam.Role:
        role = iam.Role(
            self,
            construct_id,
            role_name=names.role(purpose),
            # Only schedules of this group, in this account, may take the role.
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={
                    "StringEquals": {
                        "aws:SourceAccount": Aws.ACCOUNT_ID,
                        "aws:SourceArn": names.schedule_group_arn,
                    }
                },
            ),
            description=f"What the {purpose} schedules of {names.lab} may do",
        )
        give(self, f"{construct_id}Permissions", role, leaves)
        return role
