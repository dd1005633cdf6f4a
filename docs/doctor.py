"""The reference page of `lamplighter doctor`, from its own table of checks and the dates that it goes by."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT
from lamplighter.domain.doctor import account, cluster, deployed_lab, pools
from lamplighter.domain.doctor.checks import CHECKS

HEAD = """# What the doctor looks at

Generated from the program by `make docs`. `lamplighter doctor` looks before a deploy at a lab file, and after it at the
deployed lab; the function `doctor` looks every 30 days and says what it found as a notice.
[How to use it](../../how-to/set-up/check-an-account.md).

Each line is **ok**; **not ok**, with what to do; or **not known**, with which call on what was refused. What could not
be read is never taken for well, fails nothing, and is counted. A check of pools has a line for each pool. Reads fail
each for itself, and it changes nothing.

| check | looks at | not ok when | asks |
|---|---|---|---|"""

FOOT = """
Exit code 0: nothing is not ok. 1: something is. 2: bad input. 3: AWS does not answer. `--json` prints a list of
`{"check", "outcome", "said", "advice"}`; `outcome` is `ok`, `not-ok` or `not-known`, and `advice` is empty unless there
is something to do.

A cluster that the deploy will make has its lines answered by the lab: ok, as made by the deploy. What an adopted pool
leaves to AWS is taken from its node group.
"""


@dataclass(frozen=True)
class CheckDescription:
    """One check, in words."""

    looks_at: str
    not_ok: str
    reads: str
    """The calls that it makes; empty where the lab alone decides."""


DESCRIPTIONS = {
    "credentials": CheckDescription(
        "who AWS says you are",
        "there are no credentials, or AWS does not take them",
        "sts:GetCallerIdentity",
    ),
    "region": CheckDescription(
        "where your calls go",
        "it is not the lab's region, so that no verb would find the lab",
        "",
    ),
    "bootstrap": CheckDescription(
        "CDK's bootstrap in account and region",
        f"there is none, or it is older than version {account.NEEDED_BOOTSTRAP}",
        "ssm:GetParameter",
    ),
    "quota-g-vt": CheckDescription(
        "the quota of running On-Demand G and VT instances (L-DB2E81BA)",
        "it does not hold max_nodes of all pools of such instances",
        "servicequotas:GetServiceQuota",
    ),
    "quota-p": CheckDescription(
        "the quota of running On-Demand P instances (L-417A185B)",
        "the same for P instances",
        "servicequotas:GetServiceQuota",
    ),
    "concurrency": CheckDescription(
        "how many functions Lambda runs at once in the account (L-B99A9384)",
        f"it is less than {NEW_ACCOUNT}, which new accounts have",
        "servicequotas:GetServiceQuota",
    ),
    "offering": CheckDescription(
        "the zones in which EC2 offers each pool's instance type",
        "it is not offered in the pool's zone",
        "ec2:DescribeInstanceTypeOfferings, ec2:DescribeSubnets",
    ),
    "cluster": CheckDescription(
        "the cluster",
        "an existing or deployed one is not there, or is neither ACTIVE nor UPDATING",
        "eks:DescribeCluster",
    ),
    "authentication": CheckDescription(
        "the cluster's authentication mode",
        "it is CONFIG_MAP, which has no access entries",
        "eks:DescribeCluster",
    ),
    "endpoint": CheckDescription(
        "the cluster's endpoint, and whether its certificate authority has key identifiers",
        "it is private, lets in some addresses only, or does not answer",
        "eks:DescribeCluster, the Kubernetes API",
    ),
    "minimum": CheckDescription(
        "each pool's node group",
        "it is not there, or its minimum is above 0",
        "eks:DescribeNodegroup",
    ),
    "claim": CheckDescription(
        "which lab guards each pool's node group",
        "another lab does",
        "ssm:GetParameters",
    ),
    "autoscalers": CheckDescription(
        "Cluster Autoscaler and Karpenter in the cluster",
        "one may start or remove GPU nodes: Cluster Autoscaler by the tag on the pool's Auto Scaling group, a"
        " NodePool of Karpenter that no requirement keeps from GPUs",
        "deployments and nodepools of the cluster, autoscaling:DescribeAutoScalingGroups",
    ),
    "trail": CheckDescription(
        "CloudTrail in the lab's region",
        "no trail that is switched on records changes",
        "cloudtrail:DescribeTrails, cloudtrail:GetTrailStatus, cloudtrail:GetEventSelectors",
    ),
    "slack": CheckDescription(
        "the Slack app's secret, where the lab has Slack",
        "signing_secret or bot_token is not filled in",
        "secretsmanager:GetSecretValue",
    ),
    "kubernetes-version": CheckDescription(
        "the end of EKS's standard support of the Kubernetes version",
        f"it is over, or less than {cluster.AHEAD.days} days away; then the cluster costs more",
        "eks:DescribeCluster",
    ),
    "operator": CheckDescription(
        "the GPU Operator and the Kubernetes version",
        "they do not go together, or none runs where the lab takes its GPUs from one",
        "deployments of the cluster",
    ),
    "image": CheckDescription(
        "the age of the image that each pool's new nodes start from",
        f"it is older than {pools.OLD_IMAGE.days} days",
        "eks:DescribeNodegroup",
    ),
    "price": CheckDescription(
        "what a node of each pool costs, and since when that is known",
        f"nobody knows it; the table shipped with us is older than {pools.OLD_TABLE.days} days and nothing newer is"
        f" there; or AWS's price list has not answered a running lab for {pools.OLD_PRICE.days} days",
        "the lab's ledger",
    ),
    "runtime": CheckDescription(
        "until when Lambda supports the functions' runtime",
        f"that is over, or less than {deployed_lab.AHEAD.days} days away",
        "",
    ),
    "last-window": CheckDescription(
        "the last window that the lab plans",
        f"it is over, or less than {deployed_lab.LAST_WINDOW_NEAR.days} days away and nothing follows",
        "calendars that windows follow",
    ),
}
"""By check."""


def page() -> str:
    """The whole page."""
    rows = [
        f"| `{check.name}` | {words.looks_at} | {words.not_ok} | {words.reads or 'nothing: the lab tells'} |"
        for check in CHECKS
        for words in [DESCRIPTIONS[check.name]]
    ]
    return "\n".join([HEAD, *rows, FOOT, *_dates()]).rstrip() + "\n"


def _dates() -> Iterator[str]:
    document = json.loads(files("lamplighter.data").joinpath("lifecycle.json").read_text("utf-8"))
    yield f"## Ends of support\n\nAs known on {document['known']}. A version that is not here is not known.\n"
    yield "| Kubernetes on EKS | standard support until | extended support until |\n|---|---|---|"
    for version, ends in document["kubernetes"].items():
        yield f"| {version} | {ends['standard']} | {ends['extended']} |"
    more = f"{document['extended_support_hour']} {document['currency']}"
    yield f"\nIn extended support a cluster costs {more} an hour more.\n"
    yield "| Lambda runtime | supported until |\n|---|---|"
    for runtime, ends in document["runtimes"].items():
        yield f"| {runtime} | {ends} |"
    yield "\nSources:\n"
    yield from (f"- {what}: {where}" for what, where in document["sources"].items())
