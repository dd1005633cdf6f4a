"""The facts of an account that is ok, and of accounts with one fact wrong or not read."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lamplighter.data.lifecycle import Support
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.facts import (
    AwsIdentity,
    ClusterFacts,
    Facts,
    OtherNodes,
    PoolGroup,
    SlackSecret,
    Trail,
)
from lamplighter.domain.doctor.line import LineOutcome, Unread
from lamplighter.domain.money.price import Price, Source
from lamplighter.domain.pool.adoption import Autoscalers, ExistingCluster, ExistingPool
from lamplighter.lab.model import Lab
from tests.unit.doctor.told import ToldLine

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
REFUSED = Unread("eks:DescribeCluster on lab failed: AccessDenied")
WINDOWS = [{"name": "evening", "days": ["tue"], "start": "20:00", "end": "23:00", "until": "2027-03-01"}]
DOCUMENT: dict[str, Any] = {
    "name": "lab",
    "slack": {"secret_arn": "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:lab-slack-AbCdEf"},
    "windows": WINDOWS,
}
CLUSTER = ExistingCluster(
    "lab", "ap-northeast-2", "1.35", "API", public_endpoint=True, public_cidrs=("0.0.0.0/0",)
)
OLD, NEW = frozenset({"old"}), frozenset({"new"})
TAG = {"k8s.io/cluster-autoscaler/enabled": "true"}
GROUP = ExistingPool(
    name="lab-ng-gpu",
    status="ACTIVE",
    instance_types=("g5.xlarge",),
    ami_type="AL2023_x86_64_NVIDIA",
    capacity_type="ON_DEMAND",
    minimum=0,
    maximum=2,
    desired=0,
    group_tags=TAG,
    release="1.35.4-20260714",
)
SYSTEM = OtherNodes("lab-ng-1", ("t3.medium",), 2, managed=True)
FACTS = Facts(
    caller=AwsIdentity("123456789012", "arn:aws:iam::123456789012:user/alice"),
    region="ap-northeast-2",
    deployed=True,
    plan="PAID",
    bootstrap=30,
    quotas={"g_and_vt_vcpus": 8.0, "p_vcpus": 0.0},
    disks=50.0,
    concurrency=10.0,
    offered={"g5.xlarge": frozenset({"ap-northeast-2a", "ap-northeast-2c"})},
    zones={f"ap-northeast-2{letter}": f"apne2-az{number}" for number, letter in enumerate("abcd", 1)},
    kubernetes={"1.35": Support(date(2027, 3, 27), date(2028, 3, 27))},
    cluster=CLUSTER,
    groups={"gpu": PoolGroup(GROUP, ("ap-northeast-2a",))},
    inside=ClusterFacts(Autoscalers(asked=True), "v26.3.1"),
    others=(SYSTEM,),
    claims={"lab-ng-gpu": "lab"},
    trails=(Trail("all", logging=True, changes=True),),
    slack=SlackSecret("lab-slack", ()),
    prices={"gpu": Price(Decimal("1.237"), "USD", Source.PRICE_LIST, NOW - timedelta(hours=3))},
    courses={},
)
#: Nothing deployed yet: what a lab that makes its own cluster finds.
BEFORE = replace(
    FACTS,
    deployed=False,
    cluster=None,
    groups={"gpu": None},
    inside=None,
    others=(),
    claims={},
    slack=None,
    prices={},
)


ADOPTS: dict[str, Any] = {
    "cluster": {"existing": "theirs"},
    "pools": {"gpu": {"existing": "gpus", "instance_type": "g5.xlarge"}},
}


def on(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)


def lab(**more: object) -> Lab:
    return Lab.model_validate({**DOCUMENT, **more})


def said(facts: Facts = FACTS, the_lab: Lab | None = None, now: datetime = NOW) -> dict[str, ToldLine]:
    """The line of each check; of a check with several lines the worst."""
    order = [LineOutcome.OK, LineOutcome.NOT_KNOWN, LineOutcome.NOT_OK]
    lines = [
        ToldLine(line.check, line.outcome, str(line.said), str(line.advice))
        for line in examine(facts, the_lab or lab(), now)
    ]
    return {line.check: line for line in sorted(lines, key=lambda line: order.index(line.outcome))}


def group(**more: object) -> dict[str, PoolGroup]:
    return {"gpu": PoolGroup(replace(GROUP, **more), ("ap-northeast-2a",))}  # type: ignore[arg-type]


AUTOSCALER = Autoscalers(asked=True, found=("deployment kube-system/cluster-autoscaler",))
KARPENTER = Autoscalers(asked=True, nodepools=("default",))
SILENT = Autoscalers(asked=False, reachable=False, why_not="no answer")

WRONG: list[tuple[str, Facts, str, str]] = [
    ("region", replace(FACTS, region=None), "no AWS region is set", "AWS_REGION=ap-northeast-2"),
    ("region", replace(FACTS, region="us-east-1"), "name us-east-1", "AWS_REGION=ap-northeast-2"),
    ("account-plan", replace(FACTS, plan="FREE"), "on AWS's Free plan, which has no GPU instances", "to the Paid plan"),
    ("bootstrap", replace(FACTS, bootstrap=None), "not bootstrapped", "bootstrap aws://123456789012/ap-nor"),
    ("bootstrap", replace(FACTS, bootstrap=5), "version 5, and the templates need 6", "bootstrap aws://"),
    ("quota-g-vt", replace(FACTS, quotas={"g_and_vt_vcpus": 4.0, "p_vcpus": 0.0}),
     "2 nodes g5.xlarge of pool gpu need 8 vCPUs, and the quota of G and VT instances in ap-northeast-2 is 4",
     "--quota-code L-DB2E81BA --desired-value 8"),
    ("quota-disks", replace(FACTS, disks=0.1953),
     "all nodes of gpu need disks of 200 GiB, and the quota of gp3 volumes in ap-northeast-2 is 0.1953 TiB",
     "--service-code ebs --quota-code L-7A658B76 --desired-value 1 --region ap-northeast-2"),
    ("concurrency", replace(FACTS, concurrency=5.0),
     "Lambda runs 5 functions at once in this account and ap-northeast-2: the lab needs 10",
     "--service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region ap-northeast-2"),
    ("zones", replace(FACTS, deployed=False, zones={}), "this account has no zone ap-northeast-2", "another region"),
    ("offering", replace(FACTS, offered={"g5.xlarge": frozenset({"ap-northeast-2c"})}),
     "g5.xlarge of pool gpu is not offered in ap-northeast-2a", "zone_index: 2 for the pool, which is ap-northeast-2c"),
    ("offering", replace(FACTS, offered={"g5.xlarge": frozenset({"ap-northeast-2d"})}),
     "not offered in ap-northeast-2a", "name one of ap-northeast-2d in cluster.zones"),
    ("offering", replace(FACTS, offered={}), "not offered in", "EC2 offers no g5.xlarge in ap-northeast-2"),
    ("cluster", replace(FACTS, cluster=replace(CLUSTER, status="FAILED")), "cluster lab is FAILED", "EKS console"),
    ("authentication", replace(FACTS, cluster=replace(CLUSTER, authentication="CONFIG_MAP")),
     "authentication mode CONFIG_MAP", "authenticationMode=API_AND_CONFIG_MAP"),
    ("endpoint", replace(FACTS, cluster=replace(CLUSTER, public_endpoint=False)), "is private",
     "switch public access on"),
    ("endpoint", replace(FACTS, cluster=replace(CLUSTER, public_cidrs=("203.0.113.0/24",))),
     "lets in only 203.0.113.0/24", "let in 0.0.0.0/0"),
    ("minimum", replace(FACTS, groups=group(minimum=1)), "has minimum 1", "set the minimum to 0"),
    ("minimum", replace(FACTS, groups=group(warm_pool=True)), "has a warm pool", "--warm-pool-config enabled=false"),
    ("minimum", replace(FACTS, groups=group(scheduled_actions=("morning",))),
     "has scheduled actions (morning)", "delete-scheduled-action"),
    ("claim", replace(FACTS, claims={"lab-ng-gpu": "rival"}), "lab rival guards", "out of lab rival"),
    ("unguarded",
     replace(FACTS, others=(SYSTEM, OtherNodes("windows", ("m5.large", "g4dn.xlarge", "g5.xlarge"), 2, managed=True))),
     "node group windows may start g4dn.xlarge and g5.xlarge, has 2 nodes ordered, and is no pool of this lab",
     "lamplighter adopt lab windows"),
    ("unguarded", replace(FACTS, others=(SYSTEM, OtherNodes("volta", ("p3.2xlarge",), 1, managed=True))),
     "node group volta may start p3.2xlarge, has 1 node ordered, and is no pool of this lab",
     "lamplighter adopt lab volta"),
    ("unguarded", replace(FACTS, others=(OtherNodes("eksctl-nodes", ("g5.xlarge",), 1, managed=False),)),
     "Auto Scaling group eksctl-nodes may start g5.xlarge, has 1 node ordered, and EKS does not manage it",
     "replace it by a managed node group"),
    ("autoscalers", replace(FACTS, inside=ClusterFacts(AUTOSCALER, "v26.3.1")),
     "deployment kube-system/cluster-autoscaler may open node group lab-ng-gpu",
     "remove the tag k8s.io/cluster-autoscaler/enabled from"),
    ("autoscalers", replace(FACTS, inside=ClusterFacts(KARPENTER, "v26.3.1")), "NodePool default may start GPU nodes",
     "instance-gpu-count with operator DoesNotExist"),
    ("trail", replace(FACTS, trails=()), "no CloudTrail trail records ap-northeast-2", "create-trail"),
    ("trail", replace(FACTS, trails=(Trail("all", logging=False, changes=True),)), "trail all is switched off",
     "start-logging --name all"),
    ("trail", replace(FACTS, trails=(Trail("reads", logging=True, changes=False),)), "trail reads records no changes",
     "management events"),
    ("slack", replace(FACTS, slack=SlackSecret("lab-slack", ("bot_token",))),
     "bot_token of the Slack app are not in secret lab-slack", "lamplighter slack secret"),
    ("slack", replace(BEFORE, slack=SlackSecret("lab-slack", ("signing_secret", "bot_token"))),
     "signing_secret and bot_token of the Slack app are not in secret lab-slack",
     "put-secret-value --secret-id lab-slack"),
    ("kubernetes-version", replace(FACTS, cluster=replace(CLUSTER, version="1.34")),
     ("standard support of Kubernetes 1.34 ends on 2026-12-02: then the cluster costs 0.50 USD an hour more, about 365"
      " USD a month"), "upgrade to Kubernetes 1.35"),
    ("kubernetes-version", replace(FACTS, cluster=replace(CLUSTER, version="1.33")),
     "standard support of Kubernetes 1.33 ended on 2026-07-29", "upgrade to"),
    ("kubernetes-version", replace(FACTS, cluster=replace(CLUSTER, version="1.34", support="STANDARD")),
     "then EKS upgrades the cluster by itself", "upgrade to"),
    ("operator", replace(FACTS, inside=ClusterFacts(Autoscalers(asked=True), "v25.10.0")),
     "GPU Operator v25.10.0 supports Kubernetes 1.29 to 1.34, and the cluster has 1.35", "take GPU Operator v26.3.x"),
    ("operator", replace(FACTS, inside=ClusterFacts(Autoscalers(asked=True), None)),
     "no GPU Operator runs in cluster lab", "gpu_operator: {enabled: false}"),
    ("image", replace(FACTS, groups=group(release="1.35.1-20260101")), "release 1.35.1-20260101, is 334 days old",
     "update-nodegroup-version --cluster-name lab --nodegroup-name lab-ng-gpu"),
    ("image", replace(FACTS, cluster=replace(CLUSTER, authorities=NEW | OLD), groups=group(authorities=OLD)),
     "the user data of pool gpu lacks a certificate authority that cluster lab trusts", "describe-cluster --name lab"),
    ("price", replace(FACTS, prices={"gpu": Price(Decimal(2), "USD", Source.PRICE_LIST, NOW - timedelta(days=8))}),
     "from AWS's price list 8 days ago: since then the price list has not answered", "pricing:GetProducts"),
]  # fmt: skip


UNKNOWN: list[tuple[Facts, set[str]]] = [
    (replace(FACTS, caller=REFUSED), {"credentials"}),
    (replace(FACTS, plan=REFUSED), {"account-plan"}),
    (replace(FACTS, disks=REFUSED), {"quota-disks"}),
    (replace(FACTS, bootstrap=REFUSED), {"bootstrap"}),
    (replace(FACTS, quotas={"g_and_vt_vcpus": REFUSED, "p_vcpus": REFUSED}), {"quota-g-vt"}),
    (replace(FACTS, concurrency=REFUSED), {"concurrency"}),
    (replace(FACTS, offered=REFUSED), {"offering"}),
    (replace(FACTS, deployed=False, zones=REFUSED), {"zones"}),
    (replace(FACTS, cluster=REFUSED, groups={"gpu": REFUSED}, inside=REFUSED, others=REFUSED), {*("unguarded",
     "cluster", "authentication", "endpoint", "minimum", "autoscalers", "kubernetes-version"), *("operator", "image",
     "offering")}),
    (replace(FACTS, groups={"gpu": REFUSED}), {"minimum", "image", "offering"}),
    (replace(FACTS, others=REFUSED), {"unguarded"}),
    (replace(FACTS, claims=REFUSED), {"claim"}),
    (replace(FACTS, trails=REFUSED), {"trail"}),
    (replace(FACTS, slack=REFUSED), {"slack"}),
    (replace(FACTS, slack=None), {"slack"}),
    (replace(FACTS, prices=REFUSED), {"price"}),
    (replace(FACTS, cluster=replace(CLUSTER, version="1.99")), {"kubernetes-version", "operator"}),
    (replace(FACTS, groups=group(release="1.20.3-5d9ac849")), {"image"}),
    (replace(FACTS, inside=ClusterFacts(Autoscalers(asked=False, why_not="403"), None)), {"autoscalers"}),
]  # fmt: skip
