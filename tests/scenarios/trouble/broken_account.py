"""Everything that can be wrong in an account and its lab: broken on the embedded cloud one by one, and repaired.

Some things no API can break (EKS takes no mode back to CONFIG_MAP). They are broken in the answers of the embedded AWS.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from lamplighter.adapters.doctor.bootstrap import VERSION
from lamplighter.adapters.doctor.collect import Examination
from lamplighter.adapters.kubernetes.connection import connect
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from local.cloud import Cloud
from local.kubernetes.api import ApiError
from tests.scenarios.lab_day import LabDay

TRAIL, BUCKET, SECRET = "everything", "trail-of-everything", "gpu-lab-slack"
FILLED = {"signing_secret": "0" * 32, "bot_token": "xoxb-test"}
NODEPOOLS = "/apis/karpenter.sh/v1/nodepools"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass
class Account:
    """A deployed lab, its healthy account, and the doctor's results for them."""

    day: LabDay

    @property
    def cloud(self) -> Cloud:
        return self.day.cloud

    def call(self, service: str, operation: str, **request: object) -> Any:
        return getattr(self.day.api(service), operation)(**request)

    def look(self, lab: Lab | None = None, region: str = "ap-northeast-2") -> dict[str, DoctorLine]:
        """The line of each check: of the deployed lab, or of one that is not deployed yet."""
        examination = Examination(
            lab or self.day.lab,
            region=region,
            ledger=None if lab else self.day.ledger,
            slack_secret=SECRET,
            courses=dict,
        )
        lines = examine(examination.facts(), lab or self.day.lab, self.day.now)
        return {line.check: line for line in lines}


def in_order(account: Account) -> None:
    """The healthy account: bootstrapped, with a trail, and with the secret of the Slack app."""
    account.call("ssm", "put_parameter", Name=VERSION, Value="30", Type="String", Overwrite=True)
    here = {"LocationConstraint": "ap-northeast-2"}
    account.call("s3", "create_bucket", Bucket=BUCKET, CreateBucketConfiguration=here)
    trail = {"Name": TRAIL, "S3BucketName": BUCKET, "IsMultiRegionTrail": True}
    account.call("cloudtrail", "create_trail", **trail)
    account.call("cloudtrail", "start_logging", Name=TRAIL)
    account.call("secretsmanager", "put_secret_value", SecretId=SECRET, SecretString=json.dumps(FILLED))


@contextmanager
def changed(where: dict[str, Any], **more: object) -> Iterator[None]:
    before = {key: where[key] for key in more}
    where.update(more)
    yield
    where.update(before)


def cluster(account: Account, **more: object) -> AbstractContextManager[None]:
    return changed(account.cloud.aws.moto_additions.clusters.cluster("gpu-lab").document, **more)


def network(account: Account, **more: object) -> AbstractContextManager[None]:
    document = account.cloud.aws.moto_additions.clusters.cluster("gpu-lab").document
    return changed(document["resourcesVpcConfig"], **more)


def failed(account: Account) -> AbstractContextManager[None]:
    return changed(account.cloud.aws.moto_additions.clusters.cluster("gpu-lab").__dict__, status="FAILED")


@contextmanager
def only_the_config_map(account: Account) -> Iterator[None]:
    """Access entries do not count. The API server still uses what it knows of a token for two seconds."""
    with cluster(account, accessConfig={"authenticationMode": "CONFIG_MAP"}):
        until(account, lambda: not let_in())
        yield
    until(account, let_in)


def let_in() -> bool:
    """Whether the API server knows the caller."""
    connection = connect("gpu-lab")
    connection.patience = 0
    with suppress(OutsideFailed):
        return connection.ask("GET", "/version").ok
    return False


def until(account: Account, holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        account.cloud.clock.sleep(0.2)
    raise AssertionError(f"not within a minute: {holds}")


@contextmanager
def nodegroup(account: Account, **more: object) -> Iterator[None]:
    group = next(
        one for one in account.cloud.aws.moto_additions.nodegroups.known() if one.name == "gpu-lab-ng-gpu"
    )
    with changed(group.__dict__, **more):
        yield


@contextmanager
def no_bootstrap(account: Account) -> Iterator[None]:
    account.call("ssm", "delete_parameter", Name=VERSION)
    yield
    account.call("ssm", "put_parameter", Name=VERSION, Value="30", Type="String")


def free_plan(account: Account) -> AbstractContextManager[None]:
    return changed(account.cloud.aws.moto_additions.free_tier.__dict__, plan="FREE")


@contextmanager
def small_quota(account: Account) -> Iterator[None]:
    faults = account.cloud.aws.moto_additions.faults
    faults.gpu_vcpu_quota = 4
    yield
    faults.gpu_vcpu_quota = None


@contextmanager
def another_labs_claim(account: Account) -> Iterator[None]:
    claim = {"Name": "/lamplighter/claims/gpu-lab/gpu-lab-ng-gpu", "Type": "String", "Overwrite": True}
    account.call("ssm", "put_parameter", **claim, Value="rival")
    yield
    account.call("ssm", "put_parameter", **claim, Value="gpu-lab")


@contextmanager
def nodes_of_their_own(account: Account) -> Iterator[None]:
    """GPU nodes that somebody manages without EKS, as eksctl makes them with --managed=false."""
    data = {"ImageId": "ami-12345678", "InstanceType": "g5.xlarge"}
    account.call("ec2", "create_launch_template", LaunchTemplateName="theirs", LaunchTemplateData=data)
    subnet = account.call("ec2", "describe_subnets")["Subnets"][0]["SubnetId"]
    group = {"AutoScalingGroupName": "theirs", "MinSize": 0, "MaxSize": 2, "VPCZoneIdentifier": subnet}
    tag = {"Key": "kubernetes.io/cluster/gpu-lab", "Value": "owned", "PropagateAtLaunch": True}
    template = {"LaunchTemplateName": "theirs", "Version": "1"}
    account.call("autoscaling", "create_auto_scaling_group", **group, Tags=[tag], LaunchTemplate=template)
    yield
    account.call("autoscaling", "delete_auto_scaling_group", AutoScalingGroupName="theirs")


@contextmanager
def no_trail(account: Account) -> Iterator[None]:
    account.call("cloudtrail", "stop_logging", Name=TRAIL)
    yield
    account.call("cloudtrail", "start_logging", Name=TRAIL)


@contextmanager
def empty_secret(account: Account) -> Iterator[None]:
    empty = json.dumps({**FILLED, "bot_token": ""})
    account.call("secretsmanager", "put_secret_value", SecretId=SECRET, SecretString=empty)
    yield
    account.call("secretsmanager", "put_secret_value", SecretId=SECRET, SecretString=json.dumps(FILLED))


@contextmanager
def old_price(account: Account) -> Iterator[None]:
    ledger, lab = account.day.ledger, account.day.lab
    kept = ledger.price(lab.region, "g5.xlarge")
    assert kept is not None
    assert kept.at is not None
    ledger.keep_price(lab.region, "g5.xlarge", replace(kept, at=kept.at - timedelta(days=10)))
    yield
    ledger.keep_price(lab.region, "g5.xlarge", kept)


@contextmanager
def running(account: Account, name: str, image: str) -> Iterator[None]:
    """A deployment that exists; nobody needs to run it."""
    admin, path = account.cloud.control_plane.admin(), "/apis/apps/v1/namespaces/kube-system/deployments"
    labels = {"app": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    admin.create(path, {"metadata": {"name": name}, "spec": spec})
    yield
    admin.delete(f"{path}/{name}")


@contextmanager
def karpenter(account: Account) -> Iterator[None]:
    """Karpenter with a NodePool that may start GPU nodes."""
    admin = account.cloud.control_plane.admin()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "nodepools", "singular": "nodepool", "kind": "NodePool", "listKind": "NodePoolList"}
    spec = {"group": "karpenter.sh", "scope": "Cluster", "names": names, "versions": [version]}
    admin.create(CRDS, {"metadata": {"name": "nodepools.karpenter.sh"}, "spec": spec})
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}

    def made() -> bool:
        with suppress(ApiError):
            admin.create(NODEPOOLS, pool)
            return True
        return False

    until(account, made)
    with running(account, "karpenter", "public.ecr.aws/karpenter/controller:1.8.1"):
        yield
    admin.delete(f"{CRDS}/nodepools.karpenter.sh")


@contextmanager
def deaf(account: Account) -> Iterator[None]:
    """No server listens at the cluster's endpoint."""
    clusters = account.cloud.aws.moto_additions.clusters
    endpoint = clusters._endpoint
    clusters._endpoint = "https://127.0.0.1:9"
    yield
    clusters._endpoint = endpoint


Break = Callable[[Account], AbstractContextManager[None]]
AUTOSCALER = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
NOT_OK, NOT_KNOWN = LineOutcome.NOT_OK, LineOutcome.NOT_KNOWN
#: What is broken, what changes by it, and words of the line that reports it.
BROKEN: dict[str, tuple[Break, Mapping[str, LineOutcome], str]] = {
    "no bootstrap": (no_bootstrap, {"bootstrap": NOT_OK}, "CDK is not bootstrapped"),
    "free plan": (free_plan, {"account-plan": NOT_OK}, "on AWS's Free plan, which has no GPU instances"),
    "small quota": (small_quota, {"quota-g-vt": NOT_OK}, "need 8 vCPUs, and the quota of G and VT"),
    "failed cluster": (failed, {"cluster": NOT_OK}, "cluster gpu-lab is FAILED"),
    "config map": (
        only_the_config_map,
        {"authentication": NOT_OK, "autoscalers": NOT_KNOWN},
        "authentication mode CONFIG_MAP",
    ),
    "private endpoint": (
        partial(network, endpointPublicAccess=False),
        {"endpoint": NOT_OK, "autoscalers": NOT_KNOWN},
        "is private",
    ),
    "closed endpoint": (
        partial(network, publicAccessCidrs=["203.0.113.0/24"]),
        {"endpoint": NOT_OK},
        "lets in only 203.0.113.0/24",
    ),
    "deaf endpoint": (deaf, {"endpoint": NOT_OK, "autoscalers": NOT_KNOWN}, "does not answer"),
    "minimum": (
        partial(nodegroup, sizes={"minSize": 1, "maxSize": 2, "desiredSize": 1}),
        {"minimum": NOT_OK},
        "has minimum 1",
    ),
    "another lab's claim": (another_labs_claim, {"claim": NOT_OK}, "lab rival guards"),
    "GPU nodes that no pool has": (
        nodes_of_their_own,
        {"unguarded": NOT_OK},
        "Auto Scaling group theirs may start g5.xlarge, has 0 nodes ordered, and EKS does not manage it",
    ),
    "an image that ended": (
        partial(nodegroup, ami_type="AL2_x86_64_GPU"),
        {"image": NOT_OK},
        "is AL2_x86_64_GPU, and Amazon Linux 2 ended",
    ),
    "cluster autoscaler": (
        partial(running, name="cluster-autoscaler", image=AUTOSCALER),
        {"autoscalers": NOT_OK},
        "deployment kube-system/cluster-autoscaler may open node group gpu-lab-ng-gpu",
    ),
    "karpenter": (karpenter, {"autoscalers": NOT_OK}, "NodePool default may start GPU nodes"),
    "no trail": (no_trail, {"trail": NOT_OK}, "trail everything is switched off"),
    "empty secret": (empty_secret, {"slack": NOT_OK}, "bot_token of the Slack app"),
    "expired version": (
        partial(cluster, version="1.33"),
        {"kubernetes-version": NOT_OK},
        "standard support of Kubernetes 1.33 ended on 2026-07-29",
    ),
    "old image": (partial(nodegroup, released="20260101"), {"image": NOT_OK}, "1.35.4-20260101, is 334 days"),
    "old price": (old_price, {"price": NOT_OK}, "the price list has not answered"),
}
