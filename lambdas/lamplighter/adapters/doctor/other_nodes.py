"""Reads the Auto Scaling groups of a cluster that no pool of the lab has, and the instance types of each.

Every group of a cluster's nodes has the tag kubernetes.io/cluster/NAME: EKS sets it for a managed node group, and
nodes that people manage themselves need it to join.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.doctor.facts import OtherNodes

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_autoscaling.type_defs import AutoScalingGroupTypeDef, LaunchTemplateSpecificationTypeDef
    from mypy_boto3_ec2 import EC2Client

MANAGED = "eks:nodegroup-name"


@border
class OtherNodesReading:
    """The Auto Scaling groups of the account and region."""

    def __init__(self) -> None:
        self._asg: AutoScalingClient = client("autoscaling")
        self._ec2: EC2Client = client("ec2")

    def of(self, cluster: str, pools: Collection[str]) -> tuple[OtherNodes, ...]:
        """Every group of the cluster but those behind the node groups `pools`."""
        tag = f"tag:kubernetes.io/cluster/{cluster}"
        with outside("autoscaling:DescribeAutoScalingGroups", cluster):
            pages = self._asg.get_paginator("describe_auto_scaling_groups").paginate(
                Filters=[{"Name": tag, "Values": ["owned", "shared"]}]
            )
            groups = [group for page in pages for group in page["AutoScalingGroups"]]
        found = [(group, _managed(group)) for group in groups]
        return tuple(
            OtherNodes(
                name=name or group["AutoScalingGroupName"],
                types=tuple(sorted(set(self._types(group)))),
                ordered=group["DesiredCapacity"],
                managed=name is not None,
            )
            for group, name in found
            if name is None or name not in pools
        )

    def _types(self, group: "AutoScalingGroupTypeDef") -> Iterator[str]:
        """The types that the group may start, and those that run in it."""
        yield from (one["InstanceType"] for one in group.get("Instances", []) if "InstanceType" in one)
        mixed = group.get("MixedInstancesPolicy", {}).get("LaunchTemplate", {})
        stated = [one["InstanceType"] for one in mixed.get("Overrides", []) if "InstanceType" in one]
        if stated:
            yield from stated
            return
        template = group.get("LaunchTemplate") or mixed.get("LaunchTemplateSpecification")
        if template:
            yield from self._of_template(template)

    def _of_template(self, template: "LaunchTemplateSpecificationTypeDef") -> Iterator[str]:
        named, version = template.get("LaunchTemplateId", ""), template.get("Version", "$Default")
        with outside("ec2:DescribeLaunchTemplateVersions", f"{named}, version {version}"):
            versions = self._ec2.describe_launch_template_versions(LaunchTemplateId=named, Versions=[version])
        for one in versions["LaunchTemplateVersions"]:
            if kind := one["LaunchTemplateData"].get("InstanceType"):
                yield kind


def _managed(group: "AutoScalingGroupTypeDef") -> str | None:
    """The managed node group that the Auto Scaling group is behind; None where EKS did not make it."""
    tags = {tag.get("Key"): tag.get("Value") for tag in group.get("Tags", [])}
    return tags.get(MANAGED)
