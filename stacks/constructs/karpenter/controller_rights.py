"""The IAM statements of Karpenter's controller.

They are those of the template that its project publishes
(https://karpenter.sh/v1.14/reference/cloudformation/), without the parts that the labs do not use: instance profiles
that the controller makes (the lab has its own), spot, capacity reservations, placement groups, zonal shifts and the
price list (a pool has one instance type). The value `isolatedVPC` of the chart switches these calls off.
"""

from collections.abc import Sequence

from aws_cdk import Aws

from lamplighter.domain.capacity.node_pool.kind import LABEL
from stacks.constructs.grants import Grants
from stacks.names import Names

LAUNCHES = ["ec2:CreateFleet", "ec2:RunInstances"]
MADE_BY_A_LAUNCH = ("fleet", "instance", "network-interface", "volume")
READS = [
    "ec2:DescribeImages",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplates",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeSubnets",
]
_MADE = "Karpenter makes and ends them; the condition on its tags names the cluster."


def controller_rights(names: Names, *, queue_arn: str, node_role_arns: Sequence[str]) -> list[Grants]:
    """All statements of the controller's role."""
    return [
        *_launching(names),
        *_tagging(names),
        _ending(names),
        *_reading(names),
        Grants(
            ["iam:PassRole"],
            list(node_role_arns),
            {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        Grants(["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], [queue_arn]),
    ]


def _launching(names: Names) -> list[Grants]:
    used = [f"arn:{Aws.PARTITION}:ec2:{names.region}::{kind}/*" for kind in ("image", "snapshot")] + [
        names.arn("ec2", f"{kind}/*") for kind in ("security-group", "subnet")
    ]
    template = names.arn("ec2", "launch-template/*")
    return [
        Grants(LAUNCHES, used, wide="What a node class selects; the launch itself needs the cluster's tags."),
        Grants(LAUNCHES, [template], _tagged("aws:ResourceTag", names), wide=_MADE),
        Grants(
            [*LAUNCHES, "ec2:CreateLaunchTemplate"],
            [*_made(names, *MADE_BY_A_LAUNCH), template],
            _tagged("aws:RequestTag", names, cluster_name=True),
            wide=_MADE,
        ),
    ]


def _tagging(names: Names) -> list[Grants]:
    at_creation = _tagged("aws:RequestTag", names, cluster_name=True)
    created_by = {"ec2:CreateAction": ["CreateFleet", "CreateLaunchTemplate", "RunInstances"]}
    later = _tagged("aws:ResourceTag", names)
    return [
        Grants(
            ["ec2:CreateTags"],
            _made(names, *MADE_BY_A_LAUNCH, "launch-template"),
            {**at_creation, "StringEquals": {**at_creation["StringEquals"], **created_by}},
            wide=_MADE,
        ),
        Grants(
            ["ec2:CreateTags"],
            _made(names, "instance"),
            {
                **later,
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": names.cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]
                },
            },
            wide=_MADE,
        ),
    ]


def _ending(names: Names) -> Grants:
    return Grants(
        ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"],
        _made(names, "instance", "launch-template"),
        _tagged("aws:ResourceTag", names),
        wide=_MADE,
    )


def _reading(names: Names) -> list[Grants]:
    return [
        Grants(
            READS,
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": names.region}},
            wide="EC2 takes no resource for reading.",
        ),
        Grants(
            ["ssm:GetParameter"],
            [f"arn:{Aws.PARTITION}:ssm:{names.region}::parameter/aws/service/*"],
            wide="AWS's own public parameters: they name the images.",
        ),
        Grants(["eks:DescribeCluster"], [names.cluster_arn]),
    ]


def _made(names: Names, *kinds: str) -> list[str]:
    return [names.arn("ec2", f"{kind}/*") for kind in kinds]


def _tagged(source: str, names: Names, *, cluster_name: bool = False) -> dict[str, dict[str, object]]:
    """A condition on the tags by which Karpenter marks what is the cluster's."""
    of_cluster: dict[str, object] = {f"{source}/kubernetes.io/cluster/{names.cluster}": "owned"}
    if cluster_name:
        of_cluster[f"{source}/eks:eks-cluster-name"] = names.cluster
    # The trial launches of a node class have the tag with no value.
    return {"StringEquals": of_cluster, "StringLike": {f"{source}/{LABEL}": "*"}}
