"""The reference page of `lamplighter doctor`, from its own table of checks and the dates that it uses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT, UNRESERVED
from lamplighter.domain.doctor import account, cluster, deployed_lab, pools
from lamplighter.domain.doctor.checks import CHECKS, OF_NODE_POOLS, OF_RESERVATIONS, OF_SPOT

HEAD = """# What the doctor checks

Generated from the program by `make docs`. Before a deploy, `lamplighter doctor` checks a lab file. After it, the doctor
checks the deployed lab. The function `doctor` checks it every 30 days and sends its result as a notification.
[How to use it](../../how-to/set-up/check-an-account.md).

Each line is **ok**; **not ok**, with advice; or **not known**, with the refused call. A check without its facts is not
known. It never counts as ok and fails nothing, and the doctor shows how many there are. A check of pools has a line for
each pool. A failed read affects only its own checks. The doctor changes nothing. The check `reservation` is for labs
with a pool that is bought from one. The checks from `karpenter` on are for labs with a pool of kind `karpenter` or
`auto-mode`; `minimum` and `image` are for node groups.

| check | checks | not ok when | calls |
|---|---|---|---|"""

FOOT = """
Exit code 0: no line is not ok. 1: at least one line is not ok. 2: bad input. 3: AWS does not answer. `--json` prints a
list of `{"check", "outcome", "said", "advice"}`. `outcome` is `ok`, `not-ok` or `not-known`. `advice` is empty if there
is nothing to do.

If the deploy will create the cluster, its lines are ok, because the deploy decides them. If an adopted pool leaves a
value out, the doctor reads it from the node group.

Nothing before a window shows that AWS still verifies a new account. Of the service-linked roles the doctor looks for
Spot's alone, and only for NodePools and pools with `buy: spot`: Karpenter may not create it. EKS and Auto Scaling make
their roles with the first node group, and Auto Scaling may create Spot's; AWS deletes none that is in use. If a launch
is refused for such a role or for the verification, `lamplighter diagnose` says so.
"""


@dataclass(frozen=True)
class CheckDescription:
    """One check, in words."""

    looks_at: str
    not_ok: str
    reads: str
    """The calls that it makes; empty if the lab alone decides."""


DESCRIPTIONS = {
    "credentials": CheckDescription(
        "your identity in AWS",
        "there are no credentials, or AWS rejects them",
        "sts:GetCallerIdentity",
    ),
    "region": CheckDescription(
        "the region of your calls",
        "it is not the lab's region, so no verb would find the lab",
        "",
    ),
    "account-plan": CheckDescription(
        "the plan of the account",
        "it is AWS's Free plan, which has no GPU instances",
        "freetier:GetAccountPlanState",
    ),
    "bootstrap": CheckDescription(
        "CDK's bootstrap in the account and region",
        f"there is none, or it is older than version {account.NEEDED_BOOTSTRAP}",
        "ssm:GetParameter",
    ),
    "quota-g-vt": CheckDescription(
        "the quota of running On-Demand G and VT instances (L-DB2E81BA)",
        "it is too small for max_nodes of all pools with such instances",
        "servicequotas:GetServiceQuota",
    ),
    "quota-p": CheckDescription(
        "the quota of running On-Demand P instances (L-417A185B)",
        "the same for such instances",
        "servicequotas:GetServiceQuota",
    ),
    "quota-disks": CheckDescription(
        "the quota of storage of gp3 volumes (L-7A658B76)",
        "it is too small for the disks of max_nodes of all pools; volumes that exist already are not counted",
        "servicequotas:GetServiceQuota",
    ),
    "concurrency": CheckDescription(
        "how many functions Lambda runs at once in the account (L-B99A9384)",
        f"it is less than {NEW_ACCOUNT}, the value of new accounts, or than {UNRESERVED} more than"
        " `guard.reserved_concurrency`",
        "servicequotas:GetServiceQuota",
    ),
    "zones": CheckDescription(
        "the zones of a cluster that the deploy will create",
        "the account has no zone of that letter, or EKS takes no subnet there (use1-az3, usw1-az2, cac1-az3)",
        "ec2:DescribeAvailabilityZones",
    ),
    "offering": CheckDescription(
        "the zones in which EC2 offers each pool's instance type",
        "it is not offered in the pool's zone",
        "ec2:DescribeInstanceTypeOfferings, ec2:DescribeSubnets",
    ),
    "cluster": CheckDescription(
        "the cluster",
        "an existing or deployed cluster does not exist, or is neither ACTIVE nor UPDATING",
        "eks:DescribeCluster",
    ),
    "authentication": CheckDescription(
        "the cluster's authentication mode",
        "it is CONFIG_MAP, which has no access entries",
        "eks:DescribeCluster",
    ),
    "endpoint": CheckDescription(
        "the cluster's endpoint, and whether its certificate authority has key identifiers",
        "it is private, allows only some addresses, or does not answer",
        "eks:DescribeCluster, the Kubernetes API",
    ),
    "minimum": CheckDescription(
        "each pool's node group",
        "it does not exist, its minimum is above 0, or it has a warm pool or scheduled actions",
        "eks:DescribeNodegroup, autoscaling:DescribeScheduledActions",
    ),
    "claim": CheckDescription(
        "which lab guards each pool's node group",
        "another lab guards it",
        "ssm:GetParameters",
    ),
    "unguarded": CheckDescription(
        "the groups of the cluster's nodes that no pool of the lab has",
        "one may start or runs an instance type with an NVIDIA GPU: the guard does not close its nodes",
        "autoscaling:DescribeAutoScalingGroups, ec2:DescribeLaunchTemplateVersions",
    ),
    "autoscalers": CheckDescription(
        "Cluster Autoscaler and Karpenter in the cluster",
        "one may start or remove GPU nodes: Cluster Autoscaler by the tag on the pool's Auto Scaling group, a"
        " Karpenter NodePool whose requirements allow GPUs",
        "deployments and nodepools of the cluster, autoscaling:DescribeAutoScalingGroups",
    ),
    "trail": CheckDescription(
        "CloudTrail in the lab's region",
        "no enabled trail records changes",
        "cloudtrail:DescribeTrails, cloudtrail:GetTrailStatus, cloudtrail:GetEventSelectors",
    ),
    "slack": CheckDescription(
        "the Slack app's secret, if the lab has Slack",
        "signing_secret or bot_token is empty",
        "secretsmanager:GetSecretValue",
    ),
    "kubernetes-version": CheckDescription(
        "the end of EKS's standard support of the Kubernetes version",
        f"it is over, or less than {cluster.AHEAD.days} days away; after it the cluster costs more, or EKS upgrades it"
        " by itself",
        "eks:DescribeCluster, eks:DescribeClusterVersions",
    ),
    "operator": CheckDescription(
        "the GPU Operator and the Kubernetes version",
        "they are not compatible, or no operator runs although the lab needs one",
        "deployments of the cluster",
    ),
    "image": CheckDescription(
        "the image for each pool's new nodes: what follows from it, and its age",
        f"it is older than {pools.OLD_IMAGE.days} days; it is Amazon Linux 2, which AWS ended; it is Windows,"
        " which no pool can have; or it is an image of your own whose user data lacks a certificate authority that the"
        " cluster trusts",
        "eks:DescribeNodegroup, ec2:DescribeLaunchTemplateVersions",
    ),
    "price": CheckDescription(
        "the price of a node of each pool, and its date",
        f"the price is not known; the table in the repository is older than {pools.OLD_TABLE.days} days and there is"
        f" nothing newer; or AWS's price list has not answered a running lab for {pools.OLD_PRICE.days} days",
        "the lab's ledger",
    ),
    "runtime": CheckDescription(
        "the end of Lambda's support for the functions' runtime",
        f"it is over, or less than {deployed_lab.AHEAD.days} days away",
        "",
    ),
    "last-window": CheckDescription(
        "the last window that the lab plans",
        f"it is over, or less than {deployed_lab.LAST_WINDOW_NEAR.days} days away and nothing follows",
        "calendars that windows follow",
    ),
    "reservation": CheckDescription(
        "the capacity reservation of each pool with `buy: reserved`",
        "EC2 does not know it, it is of another type, zone or instance type than the pool, open to the whole account,"
        " over, or has fewer nodes than the pool or some that cannot be started",
        "ec2:DescribeCapacityReservations, ec2:DescribeCapacityBlockStatus",
    ),
    "quota-g-vt-spot": CheckDescription(
        "the quota of G and VT Spot Instance requests (L-3819A6DF), in a lab with `buy: spot`",
        "it is too small for max_nodes of all Spot pools with such instances; it is 0 in a new account",
        "servicequotas:GetServiceQuota",
    ),
    "quota-p-spot": CheckDescription(
        "the quota of P4, P3 and P2 Spot Instance requests (L-7212CCBC), in a lab with `buy: spot`",
        "the same for P instances",
        "servicequotas:GetServiceQuota",
    ),
    "spot-role": CheckDescription(
        "EC2's service-linked role for Spot Instances, in a lab with `buy: spot`",
        "the account has none yet; Auto Scaling creates it at the first opening, unless an organisation forbids that",
        "iam:GetRole",
    ),
    "karpenter": CheckDescription(
        "Karpenter's Deployment and kinds of object, if a pool is of kind karpenter",
        "there is none, it has 0 replicas or no available pod, or a CustomResourceDefinition is absent",
        "deployments, pods and customresourcedefinitions of the cluster",
    ),
    "karpenter-version": CheckDescription(
        "the version of Karpenter and its feature gate for static NodePools",
        "it does not support the cluster's Kubernetes, has a known fault, or has static NodePools switched off",
        "deployments of the cluster",
    ),
    "karpenter-queue": CheckDescription(
        "the queue from which Karpenter reads interruptions",
        "it names none, or the queue does not exist",
        "sqs:GetQueueUrl",
    ),
    "auto-mode": CheckDescription(
        "EKS Auto Mode, if a pool is of kind auto-mode",
        "it is off: the failsafe of a lab with `switch_off` may have done that, and a deploy does not undo it",
        "eks:DescribeCluster",
    ),
    "launching-role": CheckDescription(
        "the IAM role that launches the instances of each NodePool, and EC2's role for Spot",
        "it has no policy, a lock of the failsafe is left on it, or a Spot pool lacks the service-linked role",
        "iam:ListRolePolicies, iam:ListAttachedRolePolicies, iam:GetRole",
    ),
    "node-pool": CheckDescription(
        "each NodePool and its class",
        "it does not exist; may start types without a GPU or arm64; has a requirement that excludes nothing, no"
        " grace, or a life shorter than `guard.longest_lease`; consolidates leased nodes; has an image that moves or"
        " is not made for EKS; is not ready; starts instances that never register; or a program writes its size back",
        "nodepools and node classes of the cluster",
    ),
    "node-access": CheckDescription(
        "the access entry of the role of each NodePool's nodes",
        "there is none, or its type lets no node in",
        "eks:DescribeAccessEntry",
    ),
    "launch-bar": CheckDescription(
        "what the API server answers to a NodeClaim that the bar must refuse, as a server-side dry run",
        "it accepts the NodeClaim, although the pool is enforced",
        "a dry run of nodeclaims in the cluster",
    ),
}
"""By check."""


def page() -> str:
    """The whole page."""
    rows = [
        f"| `{check.name}` | {words.looks_at} | {words.not_ok} | {words.reads or 'none: the lab decides'} |"
        for check in (*CHECKS, *OF_RESERVATIONS, *OF_SPOT, *OF_NODE_POOLS)
        for words in [DESCRIPTIONS[check.name]]
    ]
    return "\n".join([HEAD, *rows, FOOT, *_dates()]).rstrip() + "\n"


def _dates() -> Iterator[str]:
    document = json.loads(files("lamplighter.data").joinpath("lifecycle.json").read_text("utf-8"))
    yield f"## Ends of support\n\nAs known on {document['known']}. A version that is not in a table is not known. For"
    yield "Kubernetes, the answer of AWS comes first.\n"
    yield "| Kubernetes on EKS | standard support until | extended support until |\n|---|---|---|"
    for version, ends in document["kubernetes"].items():
        yield f"| {version} | {ends['standard']} | {ends['extended']} |"
    more = f"{document['extended_support_hour']} {document['currency']}"
    yield f"\nIn extended support a cluster costs {more} more per hour.\n"
    yield "| Lambda runtime | supported until |\n|---|---|"
    for runtime, ends in document["runtimes"].items():
        yield f"| {runtime} | {ends} |"
    yield f"\nEKS publishes no new image of Amazon Linux 2 since {document['amazon_linux_2']}."
    yield "\nSources:\n"
    yield from (f"- {what}: {where}" for what, where in document["sources"].items())
