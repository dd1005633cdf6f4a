"""The Auto Scaling API: groups with their bounds, their activities and their lifecycle hooks.

It checks requests and answers them in AWS's words. scaling.py carries out the consequences.
"""

import uuid

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.group import Group, Hook, Member, instant
from local.aws.autoscaling.group_settings import GroupSettings
from local.aws.autoscaling.scaling import Scaling
from local.aws.timers import Timers


class AutoScaling(GroupSettings):
    """Public methods with the names of boto3's operations are the operations of `autoscaling`."""

    def __init__(self, service_context: ServiceContext, scaling: Scaling, timers: Timers) -> None:
        self._service_context = service_context
        self._clock = service_context.clock
        self._scaling = scaling
        self._timers, self._now = timers, service_context.clock.now

    def create_auto_scaling_group(self, request: Document) -> Document:
        name = request["AutoScalingGroupName"]
        minimum: int = request["MinSize"]
        maximum: int = request["MaxSize"]
        desired: int = request.get("DesiredCapacity") or minimum
        _check_bounds(minimum, maximum, desired)
        mixed = request.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        template, instance_type = self._template(
            mixed.get("LaunchTemplateSpecification") or request["LaunchTemplate"]
        )
        types = [override["InstanceType"] for override in mixed.get("Overrides", [])]
        zones = self._zones(request["VPCZoneIdentifier"].split(","))
        with self._scaling.lock:
            if name in self._scaling.groups:
                raise AwsError(
                    "AlreadyExists",
                    "AutoScalingGroup by this name already exists - A group with the name"
                    f" {name} already exists",
                )
            group = Group(
                name=name,
                arn=self._service_context.arn(
                    "autoscaling", f"autoScalingGroup:{uuid.uuid4()}:autoScalingGroupName/{name}"
                ),
                minimum=minimum,
                maximum=maximum,
                desired=desired,
                template=template,
                instance_type=types[0] if types else instance_type,
                zones=zones,
                types=types,
                created=self._clock.now(),
                tags={
                    tag["Key"]: (tag.get("Value", ""), tag.get("PropagateAtLaunch", False))
                    for tag in request.get("Tags", [])
                },
                protect_new=request.get("NewInstancesProtectedFromScaleIn", False),
                # EKS names it in a MixedInstancesPolicy.
                spot=request.get("Spot", False),
                rebalances=request.get("CapacityRebalance", False),
            )
            group.request = (
                f"At {instant(group.created)} a user request created an AutoScalingGroup changing the"
                f" desired capacity from 0 to {desired}.  "
            )
            self._scaling.groups[name] = group
            for hook in request.get("LifecycleHookSpecificationList", []):
                self.put_lifecycle_hook({"AutoScalingGroupName": name, **hook})
        self._scaling.reconcile_soon(group)
        return {}

    def update_auto_scaling_group(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        template = self._template(request["LaunchTemplate"]) if "LaunchTemplate" in request else None
        zones = (
            self._zones(request["VPCZoneIdentifier"].split(",")) if "VPCZoneIdentifier" in request else None
        )
        with self._scaling.lock:
            minimum = request.get("MinSize", group.minimum)
            maximum = request.get("MaxSize", group.maximum)
            desired = request.get("DesiredCapacity", min(max(group.desired, minimum), maximum))
            _check_bounds(minimum, maximum, desired)
            self._resize(group, minimum, maximum, desired)
            if template:
                group.template, group.instance_type = template
            if zones:
                group.zones = zones
            group.protect_new = request.get("NewInstancesProtectedFromScaleIn", group.protect_new)
            group.rebalances = request.get("CapacityRebalance", group.rebalances)
        self._scaling.reconcile_soon(group)
        return {}

    def set_desired_capacity(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        desired = request["DesiredCapacity"]
        if desired > group.maximum:
            raise AwsError(
                "ValidationError",
                f"New SetDesiredCapacity value {desired} is above max value"
                f" {group.maximum} for the AutoScalingGroup.",
            )
        if desired < group.minimum:
            raise AwsError(
                "ValidationError",
                f"New SetDesiredCapacity value {desired} is below min value"
                f" {group.minimum} for the AutoScalingGroup.",
            )
        with self._scaling.lock:
            self._resize(group, group.minimum, group.maximum, desired)
        self._scaling.reconcile_soon(group)
        return {}

    def delete_auto_scaling_group(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        if group.members and not request.get("ForceDelete"):
            raise AwsError(
                "ResourceInUse",
                "You cannot delete an AutoScalingGroup while there are instances or"
                " pending Spot instance request(s) still in the group.",
            )
        with self._scaling.lock:
            del self._scaling.groups[group.name]
            members = list(group.members)
        if members:
            self._service_context.end_instances(members)
        return {}

    def describe_auto_scaling_groups(self, request: Document) -> Document:
        names = request.get("AutoScalingGroupNames") or []
        with self._scaling.lock:
            chosen = [
                group.document()
                for group in self._scaling.groups.values()
                if (not names or group.name in names) and _matches(group, request.get("Filters", []))
            ]
        return {"AutoScalingGroups": chosen}

    def describe_auto_scaling_instances(self, request: Document) -> Document:
        wanted = request.get("InstanceIds") or []
        with self._scaling.lock:
            return {
                "AutoScalingInstances": [
                    {**member.document(), "AutoScalingGroupName": group.name}
                    | {"HealthStatus": "HEALTHY" if member.healthy else "UNHEALTHY"}
                    for group in self._scaling.groups.values()
                    for member in group.members.values()
                    if not wanted or member.id in wanted
                ]
            }

    def describe_scaling_activities(self, request: Document) -> Document:
        name, ids = request.get("AutoScalingGroupName"), request.get("ActivityIds") or []
        groups = [self._group(name)] if name else list(self._scaling.groups.values())
        with self._scaling.lock:
            activities = [
                activity.document()
                for group in groups
                for activity in group.activities
                if not ids or activity.id in ids
            ]
        activities.sort(key=lambda activity: activity["StartTime"], reverse=True)
        return {"Activities": activities}

    def terminate_instance_in_auto_scaling_group(self, request: Document) -> Document:
        group, member = self._member(request["InstanceId"])
        decrement = request["ShouldDecrementDesiredCapacity"]
        with self._scaling.lock:
            if decrement and group.desired <= group.minimum:
                raise AwsError(
                    "ValidationError",
                    f"Currently, desiredSize equals minSize ({group.minimum})."
                    " Terminating instance without replacement will violate group's min size constraint."
                    " Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.",
                )
            before, now = len(group.counted()), instant(self._clock.now())
            effect = f", shrinking the capacity from {before} to {before - 1}" if decrement else ""
            cause = (
                f"At {now} instance {member.id} was taken out of service in response to a user"
                f" request{effect}."
            )
            if decrement:
                group.desired, group.resized = group.desired - 1, self._clock.time()
            activity = self._scaling.retire(group, member, cause)
        self._scaling.reconcile_soon(group)
        return {"Activity": activity.document()}

    def set_instance_health(self, request: Document) -> Document:
        group, member = self._member(request["InstanceId"])
        if request["HealthStatus"] == "Unhealthy":
            now = instant(self._clock.now())
            member.healthy = False
            cause = f"At {now} an instance was taken out of service in response to a user health-check."
            self._scaling.retire(group, member, cause)
            self._scaling.reconcile_soon(group)
        return {}

    def set_instance_protection(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        for instance in request["InstanceIds"]:
            _, member = self._member(instance)
            member.protected = request["ProtectedFromScaleIn"]
        self._scaling.reconcile_soon(group)
        return {}

    def suspend_processes(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        group.suspended |= set(request.get("ScalingProcesses") or ["Launch", "Terminate", "AZRebalance"])
        return {}

    def resume_processes(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        group.suspended -= set(request.get("ScalingProcesses") or list(group.suspended))
        self._scaling.reconcile_soon(group)
        return {}

    def put_lifecycle_hook(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        name = request["LifecycleHookName"]
        known = group.hooks.get(name) or Hook(group.name, name, request["LifecycleTransition"])
        known.transition = request.get("LifecycleTransition", known.transition)
        known.heartbeat = request.get("HeartbeatTimeout", known.heartbeat)
        known.default_result = request.get("DefaultResult", known.default_result)
        group.hooks[name] = known
        return {}

    def delete_lifecycle_hook(self, request: Document) -> Document:
        self._group(request["AutoScalingGroupName"]).hooks.pop(request["LifecycleHookName"], None)
        return {}

    def describe_lifecycle_hooks(self, request: Document) -> Document:
        group, names = self._group(request["AutoScalingGroupName"]), request.get("LifecycleHookNames")
        return {
            "LifecycleHooks": [h.document() for h in group.hooks.values() if not names or h.name in names]
        }

    def complete_lifecycle_action(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        with self._scaling.lock:
            member = self._waiting(group, request)
            token = member.token
        self._scaling.complete(group, member, token)
        return {}

    def record_lifecycle_action_heartbeat(self, request: Document) -> Document:
        self._waiting(self._group(request["AutoScalingGroupName"]), request)
        return {}

    def create_or_update_tags(self, request: Document) -> Document:
        for tag in request["Tags"]:
            tags = self._group(tag["ResourceId"]).tags
            tags[tag["Key"]] = (tag.get("Value", ""), tag.get("PropagateAtLaunch", False))
        return {}

    def delete_tags(self, request: Document) -> Document:
        for tag in request["Tags"]:
            self._group(tag["ResourceId"]).tags.pop(tag["Key"], None)
        return {}

    def describe_tags(self, request: Document) -> Document:
        tags = [tag for group in self._scaling.groups.values() for tag in group.tag_documents()]
        fields = {"auto-scaling-group": "ResourceId", "key": "Key", "value": "Value"}
        for filter_ in request.get("Filters", []):
            field = fields.get(filter_["Name"], "Key")
            tags = [tag for tag in tags if tag[field] in filter_["Values"]]
        return {"Tags": tags}

    def _group(self, name: str) -> Group:
        group = self._scaling.groups.get(name)
        if group is None:
            raise AwsError(
                "ValidationError", f"AutoScalingGroup name not found - AutoScalingGroup {name} not found"
            )
        return group

    def _groups(self) -> list[Group]:
        return list(self._scaling.groups.values())

    def _member(self, instance: str) -> tuple[Group, Member]:
        for group in self._scaling.groups.values():
            if instance in group.members:
                return group, group.members[instance]
        raise AwsError(
            "ValidationError",
            f"Instance Id not found - No managed instance found for instance ID: {instance}",
        )

    def _waiting(self, group: Group, request: Document) -> Member:
        for member in group.members.values():
            named = (member.id, member.token)
            if member.token and (
                request.get("InstanceId") in named or request.get("LifecycleActionToken") in named
            ):
                return member
        raise AwsError(
            "ValidationError",
            "No active Lifecycle Action found with instance ID"
            f" {request.get('InstanceId') or request.get('LifecycleActionToken')}",
        )

    def _resize(self, group: Group, minimum: int, maximum: int, desired: int) -> None:
        now = instant(self._clock.now())
        change = (
            f" changing the desired capacity from {group.desired} to {desired}"
            if desired != group.desired
            else ""
        )
        group.request = (
            f"At {now} a user request update of AutoScalingGroup constraints to min: {minimum},"
            f" max: {maximum}, desired: {desired}{change}.  "
        )
        group.minimum, group.maximum, group.desired = minimum, maximum, desired
        group.resized = self._clock.time()

    def _template(self, named: Document) -> tuple[Document, str]:
        """The launch template as a group keeps it, and its instance type."""
        version = str(named.get("Version", "$Default"))
        key = "LaunchTemplateId" if "LaunchTemplateId" in named else "LaunchTemplateName"
        reply = self._service_context.call(
            "ec2", "describe_launch_template_versions", {key: named[key], "Versions": [version]}
        )
        found = reply["LaunchTemplateVersions"][0]
        kept = {
            "LaunchTemplateId": found["LaunchTemplateId"],
            "LaunchTemplateName": found["LaunchTemplateName"],
        }
        return {**kept, "Version": version}, found["LaunchTemplateData"]["InstanceType"]

    def _zones(self, subnets: list[str]) -> dict[str, str]:
        found = self._service_context.call("ec2", "describe_subnets", {"SubnetIds": subnets})["Subnets"]
        zones = {subnet["SubnetId"]: subnet["AvailabilityZone"] for subnet in found}
        return {subnet: zones[subnet] for subnet in subnets}


def _check_bounds(minimum: int, maximum: int, desired: int) -> None:
    if minimum > maximum:
        raise AwsError(
            "ValidationError", f"Max bound, {maximum}, must be greater than or equal to min bound, {minimum}"
        )
    if not minimum <= desired <= maximum:
        raise AwsError(
            "ValidationError",
            f"Desired capacity:{desired} must be between the specified min size:{minimum}"
            f" and max size:{maximum}",
        )


def _matches(group: Group, filters: list[Document]) -> bool:
    for filter_ in filters:
        name, values = filter_["Name"], filter_["Values"]
        if name == "tag-key" and not set(values) & set(group.tags):
            return False
        if name == "tag-value" and not set(values) & {value for value, _ in group.tags.values()}:
            return False
        if name.startswith("tag:") and group.tags.get(name[4:], ("", False))[0] not in values:
            return False
    return True
