"""The APIs of EKS and Auto Scaling over the world's machines, with the operations that our code calls."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.world.aws.cluster import Cluster
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import ZONE
from tests.world.aws.scaling_groups import COUNTED, HOOK, Group, Groups
from tests.world.outside import refused

Json = dict[str, Any]
#: How long a scaling update stays InProgress.
UPDATE = (10.0, 30.0)
#: After this many seconds EKS takes over sizes that were set on the group itself.
LAG = 60.0


@dataclass
class Update:
    id: str
    kind: str
    created: datetime
    status: str = "InProgress"


@dataclass
class Nodegroup:
    """A node group as EKS knows it. The Auto Scaling group behind it may be ahead."""

    name: str
    group: Group
    sizes: dict[str, int]
    status: str = "ACTIVE"
    issues: list[Json] = field(default_factory=list)
    updates: dict[str, Update] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    """The updates by the tokens of their requests: a request that is sent again gets its update."""
    seen: datetime | None = None


Ordered = Callable[[str, int, int], None]


class Eks(Cluster):
    """One cluster with a node group for each pool."""

    def __init__(self, event_queue: EventQueue, chance: random.Random, groups: Groups, cluster: str) -> None:
        super().__init__(cluster)
        self._event_queue, self._chance, self._groups = event_queue, chance, groups
        self.nodegroups: dict[str, Nodegroup] = {}
        self.ordered: Ordered = lambda _pool, _before, _after: None
        self.update_lasts: float | None = None
        """The seconds that every update takes, if not the usual time."""
        groups.refused = self._was_refused
        groups.launched = self._was_launched

    def create(self, pool: str, name: str, maximum: int) -> None:
        """Makes a node group at zero, and its Auto Scaling group."""
        tags = {"eks:nodegroup-name": name, "eks:cluster-name": self.cluster}
        group = Group(f"eks-{name}-world", pool, 0, maximum, tags=tags)
        self._groups.groups[group.name] = group
        self.nodegroups[name] = Nodegroup(name, group, {"minSize": 0, "maxSize": maximum, "desiredSize": 0})

    def describe_nodegroup(self, *, clusterName: str, nodegroupName: str) -> Json:
        found = self._found(clusterName, nodegroupName)
        self._take_over(found)
        return {
            "nodegroup": {
                "nodegroupName": found.name,
                "clusterName": clusterName,
                "status": found.status,
                "scalingConfig": dict(found.sizes),
                "instanceTypes": ["g4dn.xlarge"],
                "amiType": "AL2023_x86_64_NVIDIA",
                "subnets": ["subnet-0a"],
                "resources": {"autoScalingGroups": [{"name": found.group.name}]},
                "health": {"issues": list(found.issues)},
            }
        }

    def update_nodegroup_config(
        self, *, clusterName: str, nodegroupName: str, scalingConfig: Json, clientRequestToken: str = ""
    ) -> Json:
        found = self._found(clusterName, nodegroupName)
        if clientRequestToken in found.tokens:
            return {"update": {"id": found.tokens[clientRequestToken]}}
        busy = any(update.status == "InProgress" for update in found.updates.values())
        if busy or found.status not in {"ACTIVE", "DEGRADED"}:
            raise refused(
                "ResourceInUseException",
                "Nodegroup cannot be updated as it is currently not in Active State",
                "UpdateNodegroupConfig",
                409,
            )
        self._take_over(found)
        sizes = {**found.sizes, **scalingConfig}
        if not sizes["minSize"] <= sizes["desiredSize"] <= sizes["maxSize"] or sizes["maxSize"] < 1:
            raise refused("InvalidParameterException", f"sizes do not fit: {sizes}", "UpdateNodegroupConfig")
        update = self.update(found, "ConfigUpdate")
        found.tokens |= {clientRequestToken: update.id} if clientRequestToken else {}
        before = found.group.desired
        found.sizes, found.seen = sizes, self._event_queue.now
        self._groups.resize(found.group, sizes["minSize"], sizes["maxSize"], sizes["desiredSize"])
        found.seen = found.group.resized
        self.ordered(found.group.pool, before, sizes["desiredSize"])
        return {"update": {"id": update.id, "status": update.status, "type": update.kind}}

    def list_updates(self, *, name: str, nodegroupName: str) -> Json:
        return {"updateIds": list(reversed(self._found(name, nodegroupName).updates))}

    def describe_update(self, *, name: str, nodegroupName: str, updateId: str) -> Json:
        update = self._found(name, nodegroupName).updates[updateId]
        return {
            "update": {
                "id": update.id,
                "status": update.status,
                "type": update.kind,
                "createdAt": update.created,
                "errors": [],
            }
        }

    def update(self, found: Nodegroup, kind: str) -> Update:
        update = Update(f"update-{len(found.updates) + 1}", kind, self._event_queue.now)
        found.updates[update.id] = update
        lasts = self.update_lasts or self._chance.uniform(*UPDATE)

        def end() -> None:
            update.status = "Successful"
            if kind == "VersionUpdate":
                found.status = "ACTIVE"

        self._event_queue.after(lasts, end)
        return update

    def _take_over(self, found: Nodegroup) -> None:
        group = found.group
        if group.resized is None or group.resized == found.seen:
            return
        if (self._event_queue.now - group.resized).total_seconds() >= LAG:
            found.sizes = {
                "minSize": group.minimum,
                "maxSize": group.maximum,
                "desiredSize": group.desired,
            }
            found.seen = group.resized

    def _found(self, cluster: str, name: str) -> Nodegroup:
        found = self.nodegroups.get(name)
        if found is None or cluster != self.cluster:
            raise refused(
                "ResourceNotFoundException",
                f"No node group found for name: {name}.",
                "DescribeNodegroup",
                404,
            )
        return found

    def _behind(self, group: Group) -> Nodegroup:
        return next(each for each in self.nodegroups.values() if each.group is group)

    def _was_refused(self, group: Group, message: str) -> None:
        found = self._behind(group)
        if not found.issues and found.status == "ACTIVE":
            found.status = "DEGRADED"
            found.issues = [{"code": "AsgInstanceLaunchFailures", "message": message}]

    def _was_launched(self, group: Group) -> None:
        found = self._behind(group)
        found.issues = []
        if found.status == "DEGRADED":
            found.status = "ACTIVE"


class AutoScaling:
    def __init__(self, groups: Groups, cluster: str) -> None:
        self._groups, self._cluster = groups, cluster
        self.ordered: Ordered = lambda _pool, _before, _after: None
        self.nodegroup_of: dict[str, str] = {}
        self.of_people: list[Json] = []
        """Groups of the cluster that people made without EKS, as AWS shows them."""

    def describe_auto_scaling_groups(
        self, *, AutoScalingGroupNames: list[str] | None = None, Filters: list[Json] | None = None
    ) -> Json:
        groups = list(self._groups.groups.values())
        if AutoScalingGroupNames is not None:
            groups = [group for group in groups if group.name in AutoScalingGroupNames]
        for each in Filters or []:
            groups = [g for g in groups if self._tags(g).get(each["Name"][4:]) in each["Values"]]
        of_cluster = [{"Name": f"tag:kubernetes.io/cluster/{self._cluster}", "Values": ["owned", "shared"]}]
        others = self.of_people if Filters == of_cluster else []
        return {"AutoScalingGroups": [*map(self._document, groups), *others]}

    def describe_auto_scaling_instances(self, *, InstanceIds: list[str]) -> Json:
        return {
            "AutoScalingInstances": [
                {**found, "AutoScalingGroupName": group.name}
                for group in self._groups.groups.values()
                for found in self._document(group)["Instances"]
                if found["InstanceId"] in InstanceIds
            ]
        }

    def describe_scaling_activities(self, *, AutoScalingGroupName: str, NextToken: str = "") -> Json:
        activities = self._group(AutoScalingGroupName).activities
        first = int(NextToken or 0)
        found: Json = {"Activities": [each.document() for each in activities[first : first + 100]]}
        if len(activities) > first + 100:
            found["NextToken"] = str(first + 100)
        return found

    def describe_scheduled_actions(self, *, AutoScalingGroupName: str) -> Json:
        """Nobody scheduled anything for a group of this world, its curfew's aside."""
        self._group(AutoScalingGroupName)
        return {"ScheduledUpdateGroupActions": []}

    def describe_lifecycle_hooks(self, *, AutoScalingGroupName: str) -> Json:
        transition = "autoscaling:EC2_INSTANCE_TERMINATING"
        return {"LifecycleHooks": [{"LifecycleHookName": HOOK, "LifecycleTransition": transition}]}

    def complete_lifecycle_action(
        self,
        *,
        AutoScalingGroupName: str,
        LifecycleHookName: str,
        InstanceId: str,
        LifecycleActionResult: str,
    ) -> Json:
        group = self._group(AutoScalingGroupName)
        member = group.members.get(InstanceId)
        if member is None or not self._groups.proceed(member):
            raise refused(
                "ValidationError",
                f"No active Lifecycle Action found with instance ID {InstanceId}",
                "CompleteLifecycleAction",
            )
        return {}

    def terminate_instance_in_auto_scaling_group(
        self, *, InstanceId: str, ShouldDecrementDesiredCapacity: bool
    ) -> Json:
        for group in self._groups.groups.values():
            member = group.members.get(InstanceId)
            if member is None or member.state not in COUNTED:
                continue
            if ShouldDecrementDesiredCapacity:
                if group.desired - 1 < group.minimum:
                    raise refused(
                        "ValidationError",
                        "Currently, desiredSize equals minSize. Terminating instance without replacement will "
                        "violate group's min size constraint.",
                        "TerminateInstanceInAutoScalingGroup",
                    )
                before, group.desired = group.desired, group.desired - 1
                group.resized = self._groups.event_queue.now
                self.ordered(group.pool, before, group.desired)
            self._groups.retire(group, member)
            if not ShouldDecrementDesiredCapacity:
                self._groups.replenish(group)
            return {"Activity": {}}
        raise refused(
            "ValidationError",
            f"Instance Id not found - No managed instance found for instance ID: {InstanceId}",
            "TerminateInstanceInAutoScalingGroup",
        )

    def update_auto_scaling_group(
        self,
        *,
        AutoScalingGroupName: str,
        MinSize: int | None = None,
        MaxSize: int | None = None,
        DesiredCapacity: int | None = None,
    ) -> Json:
        group = self._group(AutoScalingGroupName)
        minimum = group.minimum if MinSize is None else MinSize
        maximum = group.maximum if MaxSize is None else MaxSize
        desired = group.desired if DesiredCapacity is None else DesiredCapacity
        if not minimum <= desired <= maximum:
            raise refused("ValidationError", "desired capacity is out of bounds", "UpdateAutoScalingGroup")
        before = group.desired
        self._groups.resize(group, minimum, maximum, desired)
        self.ordered(group.pool, before, desired)
        return {}

    def suspend_processes(self, *, AutoScalingGroupName: str, ScalingProcesses: list[str]) -> Json:
        self._group(AutoScalingGroupName)
        del ScalingProcesses  # a group of the world rebalances nothing
        return {}

    def _group(self, name: str) -> Group:
        if name not in self._groups.groups:
            raise refused("ValidationError", f"AutoScalingGroup name not found - {name}", "AutoScaling")
        return self._groups.groups[name]

    def _tags(self, group: Group) -> dict[str, str]:
        return {
            "eks:cluster-name": self._cluster,
            "eks:nodegroup-name": self.nodegroup_of[group.name],
        }

    def _document(self, group: Group) -> Json:
        return {
            "AutoScalingGroupName": group.name,
            "MinSize": group.minimum,
            "MaxSize": group.maximum,
            "DesiredCapacity": group.desired,
            "Instances": [
                {"InstanceId": name, "AvailabilityZone": ZONE, "LifecycleState": member.state}
                for name, member in group.members.items()
            ],
            "Tags": [{"Key": key, "Value": value} for key, value in self._tags(group).items()],
        }
