"""What AWS knows about a pool, as its APIs print it: node group, activities, instances, networks, quota.

Only reads. It asks for the pool's own resources, by name, by tags, and by the ids in the answers.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.diagnosis.reading import Reading
from lamplighter.data import instance_types
from lamplighter.domain.capacity.identity import Identity
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_eks import EKSClient

Json = dict[str, Any]

# 100 activities a page: five pages are days of a group that fails once in five minutes.
ACTIVITY_PAGES = 5


def read_aws(reading: Reading, names: Identity, instance_type: str, since: datetime) -> Json:
    """The snapshot's `aws` part; `since` bounds how far back activities are read."""
    parts: Json = {}

    def keep(key: str, response: object) -> None:
        if response is not None:
            parts[key] = _as_json(response)

    group = reading.read("aws.nodegroup", lambda: _nodegroup(names.cluster, names.name))
    keep("nodegroup", group)
    scaling = _group_of(group)
    if scaling:
        keep(
            "scaling_activities", reading.read("aws.scaling_activities", lambda: _activities(scaling, since))
        )
    else:
        reading.leave("aws.scaling_activities", reason("finding.unread.no-scaling-group"))
    instances = reading.read("aws.instances", lambda: _instances(names))
    keep("instances", instances)
    guarded_by = _ids(instances or (), "SecurityGroups", "GroupId")
    if guarded_by:
        keep("security_groups", reading.read("aws.security_groups", lambda: _security_groups(guarded_by)))
    subnets = sorted({*((group or {}).get("subnets") or []), *_of(instances or (), "SubnetId")})
    if subnets:
        keep("subnets", reading.read("aws.subnets", lambda: _subnets(subnets)))
    quota = instance_types.quota_code(instance_type)
    if quota:
        keep("quotas", reading.read("aws.quotas", lambda: _quotas(quota)))
    return parts


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


def _instances(names: Identity) -> list[Json]:
    ec2: EC2Client = client("ec2")
    instances: list[Any] = []
    with outside("ec2:DescribeInstances", f"{names.cluster}/{names.name}"):
        pages = ec2.get_paginator("describe_instances").paginate(
            Filters=[{"Name": f"tag:{key}", "Values": [value]} for key, value in names.tags.items()]
        )
        for page in pages:
            for reservation in page["Reservations"]:
                instances += reservation.get("Instances", [])
    return instances


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
