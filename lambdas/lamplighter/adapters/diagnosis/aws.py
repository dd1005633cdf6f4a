"""What AWS knows about a pool, as its APIs print it: node group, activities, instances, networks, quota.

Only reads. It asks for the pool's own resources, by name, by tags, and by the ids in the answers.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.aws.capacity.instances import described
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.adapters.diagnosis.subject import Subject
from lamplighter.data import instance_types
from lamplighter.domain.capacity.identity import Identity
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_eks import EKSClient
    from mypy_boto3_iam import IAMClient

Json = dict[str, Any]
T = TypeVar("T")

# 100 activities a page: five pages are days of a group that fails once in five minutes.
ACTIVITY_PAGES = 5


def read_node_group(reading: Reading, subject: Subject) -> Json:
    """The `aws` part of a node group's snapshot; the expectation bounds how far back activities are read."""
    parts, names = _Parts(reading), subject.names
    group = parts.read("nodegroup", lambda: _nodegroup(names.cluster, names.name))
    scaling = _group_of(group)
    if scaling:
        parts.read("scaling_activities", lambda: _activities(scaling, subject.expected.since))
    else:
        reading.leave("aws.scaling_activities", reason("finding.unread.no-scaling-group"))
    spot = (group or {}).get("capacityType") == "SPOT"
    return _instances_and_networks(parts, subject, (group or {}).get("subnets") or [], spot=spot)


def read_node_pool(reading: Reading, subject: Subject) -> Json:
    """The `aws` part of a NodePool's snapshot: its order and its launches are in Kubernetes."""
    parts, role = _Parts(reading), subject.launching_role
    if role:
        parts.read("controller_policies", lambda: _inline_policies(role))
    return _instances_and_networks(parts, subject, [])


def _instances_and_networks(
    parts: "_Parts", subject: Subject, stated: Iterable[str], *, spot: bool = False
) -> Json:
    """Completes the parts by the instances, their networks, the stated subnets, and the quota."""
    instances = parts.read("instances", lambda: _instances(subject.names))
    guarded_by = _ids(instances or (), "SecurityGroups", "GroupId")
    if guarded_by:
        parts.read("security_groups", lambda: _security_groups(guarded_by))
    subnets = sorted({*stated, *_of(instances or (), "SubnetId")})
    if subnets:
        parts.read("subnets", lambda: _subnets(subnets))
    quota = instance_types.quota_code(subject.expected.instance_type, spot=spot)
    if quota:
        parts.read("quotas", lambda: _quotas(quota))
    return parts.found


class _Parts:
    """The parts that were read, as the AWS CLI prints them."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self.found: Json = {}

    def read(self, key: str, call: Callable[[], T]) -> T | None:
        response = self._reading.read(f"aws.{key}", call)
        if response is not None:
            self.found[key] = _as_json(response)
        return response


def _nodegroup(cluster: str, nodegroup: str) -> Json:
    eks: EKSClient = client("eks")
    with outside("eks:DescribeNodegroup", f"{cluster}/{nodegroup}"):
        return dict(eks.describe_nodegroup(clusterName=cluster, nodegroupName=nodegroup)["nodegroup"])


def _group_of(nodegroup: Json | None) -> str:
    groups = ((nodegroup or {}).get("resources") or {}).get("autoScalingGroups") or []
    return str(groups[0].get("name") or "") if groups else ""


def _activities(group: str, since: datetime) -> list[Json]:
    autoscaling: AutoScalingClient = client("autoscaling")
    activities: list[Any] = []
    token = ""
    with outside("autoscaling:DescribeScalingActivities", group):
        for _ in range(ACTIVITY_PAGES):
            page = (
                autoscaling.describe_scaling_activities(AutoScalingGroupName=group, NextToken=token)
                if token
                else autoscaling.describe_scaling_activities(AutoScalingGroupName=group)
            )
            activities += page["Activities"]
            token = page.get("NextToken", "")
            # The newest come first: an activity from before the expectation is history.
            if not token or (activities and activities[-1]["StartTime"] < since):
                break
    return activities


def _inline_policies(role: str) -> Json:
    """The names of a role's inline policies."""
    iam: IAMClient = client("iam")
    with outside("iam:ListRolePolicies", role):
        pages = iam.get_paginator("list_role_policies").paginate(RoleName=role)
        return {"PolicyNames": [name for page in pages for name in page["PolicyNames"]]}


def _instances(names: Identity) -> list[Json]:
    ec2: EC2Client = client("ec2")
    with outside("ec2:DescribeInstances", f"{names.cluster}/{names.name}"):
        return [dict(instance) for instance in described(ec2, names.tags)]


def _security_groups(ids: list[str]) -> list[Json]:
    ec2: EC2Client = client("ec2")
    with outside("ec2:DescribeSecurityGroups", ", ".join(ids)):
        return [dict(group) for group in ec2.describe_security_groups(GroupIds=ids)["SecurityGroups"]]


def _subnets(ids: list[str]) -> list[Json]:
    ec2: EC2Client = client("ec2")
    with outside("ec2:DescribeSubnets", ", ".join(ids)):
        return [dict(subnet) for subnet in ec2.describe_subnets(SubnetIds=ids)["Subnets"]]


def _quotas(code: str) -> list[Json]:
    quotas = client("service-quotas")
    with outside("servicequotas:GetServiceQuota", f"ec2/{code}"):
        return [dict(quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"])]


def _ids(instances: Iterable[Json], key: str, name: str) -> list[str]:
    return sorted(
        {str(part[name]) for instance in instances for part in instance.get(key) or [] if name in part}
    )


def _of(instances: Iterable[Json], key: str) -> set[str]:
    return {str(instance[key]) for instance in instances if instance.get(key)}


def _as_json(value: object) -> object:
    """The response as the AWS CLI prints it: instants as text, without boto3's own metadata."""
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items() if key != "ResponseMetadata"}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, datetime):
        return instant.written(value.astimezone(UTC))
    return value
