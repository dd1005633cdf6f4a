"""Auto Scaling groups behind node groups: reads them, removes an instance, ends a finished drain.

Works while EKS is stuck in an update. Never raises a size.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked, instance_id
from lamplighter.domain.capacity.evidence import Controller, Member
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.domain.capacity.node_group.seen import member

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_autoscaling.type_defs import (
        AutoScalingGroupTypeDef,
        AutoScalingInstanceDetailsTypeDef,
        InstanceTypeDef,
    )

# DescribeScalingActivities gives at most 100 a page; ten pages are weeks of a busy lab.
ACTIVITY_PAGES = 10
INSTANCES_A_CALL = 50
"""https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_DescribeAutoScalingInstances.html"""


@border
class AutoScaling:
    """The Auto Scaling groups of the account and region."""

    def __init__(self, autoscaling: "AutoScalingClient | None" = None) -> None:
        self._asg: AutoScalingClient = autoscaling or client("autoscaling")

    def group(self, name: str) -> Controller | None:
        """The group of that name, or None."""
        with outside("autoscaling:DescribeAutoScalingGroups", name):
            found = self._asg.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
        return _group(found[0], name) if found else None

    def group_of(self, cluster: str, nodegroup: str) -> Controller | None:
        """The group that EKS made for a node group, by the tags of EKS, or None."""
        with outside("autoscaling:DescribeAutoScalingGroups", f"{cluster}/{nodegroup}"):
            pages = self._asg.get_paginator("describe_auto_scaling_groups").paginate(
                Filters=[
                    {"Name": "tag:eks:cluster-name", "Values": [cluster]},
                    {"Name": "tag:eks:nodegroup-name", "Values": [nodegroup]},
                ]
            )
            # A page may be empty although more follow: filters apply to each page.
            found = [group for page in pages for group in page["AutoScalingGroups"]]
        return _group(found[0]) if found else None

    def members(self, group: str, instances: Sequence[str]) -> tuple[Member, ...]:
        """Those of these instances that are in the group, as Auto Scaling knows each by its own id."""
        found: dict[str, Member] = {}
        for first in range(0, len(instances), INSTANCES_A_CALL):
            with outside("autoscaling:DescribeAutoScalingInstances", group):
                pages = self._asg.get_paginator("describe_auto_scaling_instances").paginate(
                    InstanceIds=list(instances[first : first + INSTANCES_A_CALL])
                )
                listed = [each for page in pages for each in page["AutoScalingInstances"]]
            members = [_member(each) for each in listed if each["AutoScalingGroupName"] == group]
            found |= {each.instance: each for each in members}
        return tuple(found.values())

    def activities(self, group: str, pages: int = 1) -> tuple[ScalingActivity, ...]:
        """The group's latest activities, newest first, 100 a page; failures included."""
        activities: list[ScalingActivity] = []
        token = ""
        with outside("autoscaling:DescribeScalingActivities", group):
            for _ in range(min(pages, ACTIVITY_PAGES)):
                reply = (
                    self._asg.describe_scaling_activities(AutoScalingGroupName=group, NextToken=token)
                    if token
                    else self._asg.describe_scaling_activities(AutoScalingGroupName=group)
                )
                activities += [
                    checked(
                        ScalingActivity(
                            id=found["ActivityId"],
                            status=found["StatusCode"],
                            description=found.get("Description", ""),
                            message=found.get("StatusMessage", ""),
                            started=found["StartTime"],
                            ended=found.get("EndTime"),
                            cause=found.get("Cause", ""),
                        )
                    )
                    for found in reply["Activities"]
                ]
                token = reply.get("NextToken", "")
                if not token:
                    break
        return tuple(activities)

    def remove(self, instance: str) -> None:
        """Take out this very instance and lower the desired size with it; already leaving is fine."""
        self._terminate(instance, decrement=True)

    def replace(self, instance: str) -> None:
        """Remove this instance and keep the desired size, so that a new one comes. An instance that leaves is fine."""
        self._terminate(instance, decrement=False)

    def _terminate(self, instance: str, *, decrement: bool) -> None:
        with outside("autoscaling:TerminateInstanceInAutoScalingGroup", instance):
            try:
                self._asg.terminate_instance_in_auto_scaling_group(
                    InstanceId=instance, ShouldDecrementDesiredCapacity=decrement
                )
            except self._asg.exceptions.ClientError as error:
                # ValidationError: the instance has left its group, or is terminating.
                if error_code(error) != "ValidationError":
                    raise

    def end_drain(self, group: str, instance: str) -> bool:
        """End the wait of an instance in Terminating:Wait; False when there was nothing to end."""
        hooks = self._terminate_hooks(group)
        ended = False
        for hook in hooks:
            with outside("autoscaling:CompleteLifecycleAction", f"{group}, {instance}"):
                try:
                    self._asg.complete_lifecycle_action(
                        AutoScalingGroupName=group,
                        LifecycleHookName=hook,
                        InstanceId=instance,
                        LifecycleActionResult="CONTINUE",
                    )
                except self._asg.exceptions.ClientError as error:
                    # ValidationError: "No active Lifecycle Action found": EKS ended the wait first.
                    if error_code(error) != "ValidationError":
                        raise
                else:
                    ended = True
        return ended

    def lower(self, group: Controller, target: int) -> None:
        """Set the group's desired size to `target` at most, and its minimum to 0. Never raises the size."""
        if group.size <= target and group.minimum == 0:
            return
        with outside("autoscaling:UpdateAutoScalingGroup", group.name):
            self._asg.update_auto_scaling_group(
                AutoScalingGroupName=group.name,
                MinSize=0,
                DesiredCapacity=min(group.size, target),
            )

    def keep_zones(self, group: Controller) -> None:
        """Stop AZRebalance: it ends a node, leased or not, once a zone without capacity has some again.

        EKS has no setting for it (aws/containers-roadmap 1453).
        """
        with outside("autoscaling:SuspendProcesses", group.name):
            self._asg.suspend_processes(AutoScalingGroupName=group.name, ScalingProcesses=["AZRebalance"])

    def keep_at_risk(self, group: str) -> None:
        """Let the group keep a Spot node until EC2 takes it. EKS makes its Spot groups rebalance, and has no key for it
        (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html#managed-node-group-capacity-types).
        """
        with outside("autoscaling:UpdateAutoScalingGroup", group):
            self._asg.update_auto_scaling_group(AutoScalingGroupName=group, CapacityRebalance=False)

    def _terminate_hooks(self, group: str) -> list[str]:
        with outside("autoscaling:DescribeLifecycleHooks", group):
            hooks = self._asg.describe_lifecycle_hooks(AutoScalingGroupName=group)["LifecycleHooks"]
        return [
            hook["LifecycleHookName"]
            for hook in hooks
            if hook.get("LifecycleTransition") == "autoscaling:EC2_INSTANCE_TERMINATING"
        ]


def _group(found: "AutoScalingGroupTypeDef", asked: str | None = None) -> Controller:
    """Raises ValueError for a group of another name: the failsafe would be armed for that one.

    Where EKS does not name the group, all names that EKS gives begin alike: its own role may change no others
    (https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSServiceRoleForAmazonEKSNodegroup.html).
    """
    name = found["AutoScalingGroupName"]
    if not (name == asked if asked else name.startswith("eks-")):
        raise ValueError(f"the group is {name[:80]!r}")
    return checked(
        Controller(
            name=name,
            minimum=found["MinSize"],
            maximum=found["MaxSize"],
            size=found["DesiredCapacity"],
            members=tuple(
                {each.instance: each for each in map(_member, found.get("Instances", []))}.values()
            ),
            warm_pool="WarmPoolConfiguration" in found,
            rebalances=found.get("CapacityRebalance", False),
        )
    )


def _member(found: "InstanceTypeDef | AutoScalingInstanceDetailsTypeDef") -> Member:
    instance = instance_id(found["InstanceId"])
    return checked(member(instance, found["AvailabilityZone"], found["LifecycleState"]))
