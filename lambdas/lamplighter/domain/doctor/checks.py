"""Every check of the doctor, in the order of its answer: what it looks at, and when something is not ok."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT
from lamplighter.domain.doctor import account, cluster, deployed_lab, instance_capacity, pools
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import DoctorLine, Judgement
from lamplighter.lab.model import Lab

Judge: TypeAlias = Callable[[Facts, Lab, datetime], Iterator[Judgement]]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check; it may have a line for each pool."""

    name: str
    looks_at: str
    not_ok: str
    reads: str
    """What of AWS or the cluster it asks; empty where the lab alone tells."""
    judge: Judge


CHECKS = (
    DoctorCheck(
        "credentials",
        "who AWS says you are",
        "there are no credentials, or AWS does not take them",
        "sts:GetCallerIdentity",
        account.credentials,
    ),
    DoctorCheck(
        "region",
        "where your calls go",
        "it is not the lab's region, so that no verb would find the lab",
        "",
        account.region,
    ),
    DoctorCheck(
        "bootstrap",
        "CDK's bootstrap in account and region",
        f"there is none, or it is older than version {account.NEEDED_BOOTSTRAP}",
        "ssm:GetParameter",
        account.bootstrap,
    ),
    DoctorCheck(
        "quota-g-vt",
        "the quota of running On-Demand G and VT instances (L-DB2E81BA)",
        "it does not hold max_nodes of all pools of such instances",
        "servicequotas:GetServiceQuota",
        instance_capacity.quota_g_and_vt,
    ),
    DoctorCheck(
        "quota-p",
        "the quota of running On-Demand P instances (L-417A185B)",
        "the same for P instances",
        "servicequotas:GetServiceQuota",
        instance_capacity.quota_p,
    ),
    DoctorCheck(
        "concurrency",
        "how many functions Lambda runs at once in the account (L-B99A9384)",
        f"it is less than {NEW_ACCOUNT}, which new accounts have",
        "servicequotas:GetServiceQuota",
        account.concurrency,
    ),
    DoctorCheck(
        "offering",
        "the zones in which EC2 offers each pool's instance type",
        "it is not offered in the pool's zone",
        "ec2:DescribeInstanceTypeOfferings, ec2:DescribeSubnets",
        instance_capacity.offering,
    ),
    DoctorCheck(
        "cluster",
        "the cluster",
        "an existing or deployed one is not there, or is neither ACTIVE nor UPDATING",
        "eks:DescribeCluster",
        cluster.cluster,
    ),
    DoctorCheck(
        "authentication",
        "the cluster's authentication mode",
        "it is CONFIG_MAP, which has no access entries",
        "eks:DescribeCluster",
        cluster.authentication,
    ),
    DoctorCheck(
        "endpoint",
        "the cluster's endpoint, and whether its certificate authority has key identifiers",
        "it is private, lets in some addresses only, or does not answer",
        "eks:DescribeCluster, the Kubernetes API",
        cluster.endpoint,
    ),
    DoctorCheck(
        "minimum",
        "each pool's node group",
        "it is not there, or its minimum is above 0",
        "eks:DescribeNodegroup",
        pools.minimum,
    ),
    DoctorCheck(
        "claim",
        "which lab guards each pool's node group",
        "another lab does",
        "ssm:GetParameters",
        pools.claim,
    ),
    DoctorCheck(
        "autoscalers",
        "Cluster Autoscaler and Karpenter in the cluster",
        "one may start or remove GPU nodes: Cluster Autoscaler by the tag on the pool's Auto Scaling group, a"
        " NodePool of Karpenter that no requirement keeps from GPUs",
        "deployments and nodepools of the cluster, autoscaling:DescribeAutoScalingGroups",
        cluster.autoscalers,
    ),
    DoctorCheck(
        "trail",
        "CloudTrail in the lab's region",
        "no trail that is switched on records changes",
        "cloudtrail:DescribeTrails, cloudtrail:GetTrailStatus, cloudtrail:GetEventSelectors",
        account.trail,
    ),
    DoctorCheck(
        "slack",
        "the Slack app's secret, where the lab has Slack",
        "signing_secret or bot_token is not filled in",
        "secretsmanager:GetSecretValue",
        deployed_lab.slack,
    ),
    DoctorCheck(
        "kubernetes-version",
        "the end of EKS's standard support of the Kubernetes version",
        f"it is over, or less than {cluster.AHEAD.days} days away; then the cluster costs more",
        "eks:DescribeCluster",
        cluster.kubernetes_version,
    ),
    DoctorCheck(
        "operator",
        "the GPU Operator and the Kubernetes version",
        "they do not go together, or none runs where the lab takes its GPUs from one",
        "deployments of the cluster",
        cluster.operator,
    ),
    DoctorCheck(
        "image",
        "the age of the image that each pool's new nodes start from",
        f"it is older than {pools.OLD_IMAGE.days} days",
        "eks:DescribeNodegroup",
        pools.image,
    ),
    DoctorCheck(
        "price",
        "what a node of each pool costs, and since when that is known",
        f"nobody knows it; the table shipped with us is older than {pools.OLD_TABLE.days} days and nothing newer is"
        f" there; or AWS's price list has not answered a running lab for {pools.OLD_PRICE.days} days",
        "the lab's ledger",
        pools.price,
    ),
    DoctorCheck(
        "runtime",
        "until when Lambda supports the functions' runtime",
        f"that is over, or less than {deployed_lab.AHEAD.days} days away",
        "",
        deployed_lab.runtime,
    ),
    DoctorCheck(
        "last-window",
        "the last window that the lab plans",
        f"it is over, or less than {deployed_lab.LAST_WINDOW_NEAR.days} days away and nothing follows",
        "calendars that windows follow",
        deployed_lab.last_window,
    ),
)


def examine(facts: Facts, lab: Lab, now: datetime) -> list[DoctorLine]:
    """What every check says, one line or one a pool."""
    return [
        DoctorLine(check.name, found.outcome, found.said, found.advice)
        for check in CHECKS
        for found in check.judge(facts, lab, now)
    ]
