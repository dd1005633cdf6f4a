"""Rules that start the guard when a person or program changes a pool. They need a CloudTrail trail in the account.

Without a trail no such event comes, and the sweep finds the same change within five minutes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aws_cdk import Aws
from aws_cdk import aws_events as events
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks.names import Names

GroupName = str | Mapping[str, str]
"""An Auto Scaling group in an event pattern: its name or a prefix of it."""
ROOM = 1_400
"""Characters for names in a pattern, which may have 2,048 (EventBridge user guide, quotas, 2026-11)."""

# Calls that may add nodes to a pool or raise its bounds. Read-only calls start nothing.
OF_NODEGROUPS = ["UpdateNodegroupConfig", "UpdateNodegroupVersion"]
OF_GROUPS = [
    "AttachInstances",
    "EnterStandby",
    "ExecutePolicy",
    "PutScheduledUpdateGroupAction",
    "ResumeProcesses",
    "SetDesiredCapacity",
    "StartInstanceRefresh",
    "SuspendProcesses",
    "UpdateAutoScalingGroup",
]


def group_names(lab: Lab) -> list[GroupName]:
    """The Auto Scaling groups behind a lab's pools; a NodePool has none."""
    return [
        lab.pools[name].auto_scaling_group or {"prefix": lab.group_prefix(name)}
        for name in lab.pools_with("group")
    ]


def named_parts(names: Iterable[GroupName]) -> Iterator[tuple[str, list[GroupName]]]:
    """The names in parts that have room in a pattern, each with what the name of its rule ends in: first nothing."""
    part: list[GroupName] = []
    number, taken = 0, 0
    for name in names:
        length = len(json.dumps(name, separators=(",", ":"))) + 1
        if part and taken + length > ROOM:
            yield str(number or ""), part
            part, number, taken = [], number + 1, 0
        part.append(name)
        taken += length
    if part:
        yield str(number or ""), part


class TrailRules(Construct):
    """Rules with one target: calls on a node group, on its Auto Scaling group, launches with its tags."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        nodegroups: Sequence[str],
        groups: Sequence[GroupName],
        target: events.IRuleTarget,
    ) -> None:
        super().__init__(scope, construct_id)
        self._names, self._target = names, target
        for end, part in named_parts(nodegroups):
            self._rule(
                f"Nodegroups{end}",
                f"nodegroup-calls{end}",
                "Somebody changed a node group of a pool (needs a CloudTrail trail)",
                "aws.eks",
                OF_NODEGROUPS,
                {"name": [names.cluster], "nodegroupName": part},
            )
            tags = {"key": ["eks:nodegroup-name"], "value": part}
            self._rule(
                f"Launches{end}",
                f"instance-calls{end}",
                "Somebody started an instance with a pool's tags (needs a CloudTrail trail)",
                "aws.ec2",
                ["RunInstances"],
                {"tagSpecificationSet": {"items": {"tags": tags}}},
            )
        for end, groups_part in named_parts(groups):
            self._rule(
                f"Groups{end}",
                f"group-calls{end}",
                "Somebody changed the Auto Scaling group of a pool (needs a CloudTrail trail)",
                "aws.autoscaling",
                OF_GROUPS,
                {"autoScalingGroupName": groups_part},
            )

    def _rule(  # noqa: PLR0917 -- a table of three rows
        self,
        construct_id: str,
        name: str,
        description: str,
        source: str,
        calls: Sequence[str],
        asked: Mapping[str, object],
    ) -> None:
        events.Rule(
            self,
            construct_id,
            rule_name=f"{self._names.lab}-{name}",
            description=description,
            event_pattern=events.EventPattern(
                source=[source],
                detail_type=["AWS API Call via CloudTrail"],
                detail={
                    "eventName": list(calls),
                    "requestParameters": dict(asked),
                    # Calls of the guard itself, or of EKS on its behalf, must not start it again.
                    "userIdentity": {
                        "arn": [{"anything-but": {"prefix": self._ours()}}],
                        "invokedBy": [{"exists": False}],
                    },
                },
            ),
            targets=[self._target],
        )

    def _ours(self) -> str:
        """The prefix of the sessions of our own roles; a long role's name is cut after it."""
        roles = f"{self._names.lab}-{self._names.region}-"[:40]
        return f"arn:{Aws.PARTITION}:sts::{Aws.ACCOUNT_ID}:assumed-role/{roles}"
