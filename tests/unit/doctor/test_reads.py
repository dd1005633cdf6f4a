"""The doctor's reads of AWS and the cluster, one system at a time. An odd answer is reported, never guessed."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from lamplighter.adapters.capacity.adoption import Adoption
from lamplighter.adapters.doctor import caller
from lamplighter.adapters.doctor.account_plan import AccountPlan
from lamplighter.adapters.doctor.bootstrap import VERSION, Bootstrap
from lamplighter.adapters.doctor.cluster_versions import ClusterVersions
from lamplighter.adapters.doctor.inside import seen
from lamplighter.adapters.doctor.other_nodes import OtherNodesReading
from lamplighter.adapters.doctor.quotas import AccountQuotas, Zones
from lamplighter.adapters.doctor.slack_secret import SlackSecrets
from lamplighter.adapters.doctor.trails import Trails
from lamplighter.data.lifecycle import Support
from lamplighter.domain.doctor.facts import AwsIdentity, NoAccess, OtherNodes, Trail
from lamplighter.errors import OutsideFailed

REGION = "eu-central-1"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    with mock_aws():
        yield


def test_who_asks_is_told_with_the_time_at_aws() -> None:
    found = caller.who()
    assert isinstance(found, AwsIdentity)
    assert found.account == "123456789012"
    assert found.at is not None


def test_no_region_of_a_profile_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    assert caller.configured_region() == REGION
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert caller.configured_region() is None


def test_credentials_that_are_refused_are_an_answer_and_a_failure_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sts = boto3.client("sts")
    monkeypatch.setattr(caller, "client", lambda _: sts)
    with Stubber(sts) as stub:
        stub.add_client_error("get_caller_identity", "ExpiredToken", "The security token is expired")
        found = caller.who()
        stub.add_client_error("get_caller_identity", "InternalFailure", "sorry")
        with pytest.raises(OutsideFailed, match="sts:GetCallerIdentity on your credentials failed"):
            caller.who()

    assert isinstance(found, NoAccess)
    assert "The security token is expired" in str(found.why)
    assert str(found.advice).startswith("log in again")


def group(name: str, *types: str, template: str = "", **tags: str) -> None:
    """An Auto Scaling group of cluster lab whose template may be overridden by instance types."""
    named = {"LaunchTemplateName": template, "Version": "$Latest"}
    policy = {
        "LaunchTemplate": {
            "LaunchTemplateSpecification": named,
            "Overrides": [{"InstanceType": kind} for kind in types],
        }
    }
    zone = boto3.client("ec2").describe_availability_zones()["AvailabilityZones"][0]["ZoneName"]
    boto3.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=name,
        MinSize=0,
        MaxSize=4,
        DesiredCapacity=0,
        AvailabilityZones=[zone],
        Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
        **({"MixedInstancesPolicy": policy} if types else {"LaunchTemplate": named}),
    )


def test_nodes_that_no_pool_has_are_those_of_the_clusters_other_groups() -> None:
    ours = {"kubernetes.io/cluster/lab": "owned"}
    boto3.client("ec2").create_launch_template(
        LaunchTemplateName="big", LaunchTemplateData={"ImageId": "ami-1", "InstanceType": "g5.xlarge"}
    )
    group("pool", "g5.xlarge", template="big", **ours, **{"eks:nodegroup-name": "lab-ng-gpu"})
    group(
        "eks-windows", "m5.large", "g4dn.xlarge", template="big", **ours, **{"eks:nodegroup-name": "windows"}
    )
    group("by-hand", template="big", **ours)
    group("elsewhere", template="big", **{"kubernetes.io/cluster/other": "owned"})

    found = OtherNodesReading().of("lab", ["lab-ng-gpu"])

    assert found == (
        OtherNodes("windows", ("g4dn.xlarge", "m5.large"), 0, managed=True),
        OtherNodes("by-hand", ("g5.xlarge",), 0, managed=False),
    )


def test_the_bootstrap_has_a_version_or_is_not_there() -> None:
    assert Bootstrap().version() is None
    boto3.client("ssm").put_parameter(Name=VERSION, Value="30", Type="String")
    assert Bootstrap().version() == 30
    boto3.client("ssm").put_parameter(Name=VERSION, Value="new", Type="String", Overwrite=True)
    with pytest.raises(OutsideFailed, match="gives 'new', which is not a version"):
        Bootstrap().version()


@pytest.mark.parametrize("answer", [{}, {"version": ""}, {"version": "x"}, {"version": "9" * 5000}])
def test_a_cluster_without_a_version_is_not_read(answer: dict[str, Any]) -> None:
    adoption = Adoption()
    with Stubber(adoption._eks) as eks:
        eks.add_response("describe_cluster", {"cluster": {"name": "lab", **answer}})
        with pytest.raises(OutsideFailed, match="eks:DescribeCluster"):
            adoption.cluster_if_there("lab")


def test_versions_are_those_whose_ends_of_support_eks_tells() -> None:
    day = datetime(2027, 8, 2, tzinfo=UTC)
    ends = {"endOfStandardSupportDate": day, "endOfExtendedSupportDate": day.replace(year=2028)}
    eks = boto3.client("eks")
    with Stubber(eks) as stub:
        page = [
            {"clusterVersion": "1.36", **ends},
            {"clusterVersion": "1.37"},
            {"clusterVersion": "new", **ends},
        ]
        stub.add_response("describe_cluster_versions", {"clusterVersions": page})
        assert ClusterVersions(eks).supported() == {"1.36": Support(date(2027, 8, 2), date(2028, 8, 2))}


def test_a_quota_without_a_value_is_no_quota() -> None:
    quotas = boto3.client("service-quotas")
    with Stubber(quotas) as stub:
        stub.add_response("get_service_quota", {"Quota": {"Value": 8.0}})
        assert AccountQuotas(quotas).vcpus("L-DB2E81BA") == 8
        stub.add_response("get_service_quota", {"Quota": {}})
        with pytest.raises(OutsideFailed, match="gave no value"):
            AccountQuotas(quotas).vcpus("L-DB2E81BA")


def test_a_plan_that_aws_does_not_name_is_no_plan() -> None:
    free_tier = boto3.client("freetier", region_name="us-east-1")
    with Stubber(free_tier) as stub:
        answer = {"accountId": "123456789012", "accountPlanStatus": "ACTIVE", "accountPlanType": "FREE"}
        stub.add_response("get_account_plan_state", answer)
        assert AccountPlan(free_tier).kind() == "FREE"
        stub.add_response("get_account_plan_state", {**answer, "accountPlanType": "TRIAL"})
        with pytest.raises(OutsideFailed, match="named no plan"):
            AccountPlan(free_tier).kind()
        stub.add_client_error("get_account_plan_state", "ResourceNotFoundException")
        with pytest.raises(OutsideFailed, match="freetier:GetAccountPlanState"):
            AccountPlan(free_tier).kind()


def test_zones_are_those_of_offerings_and_of_subnets() -> None:
    ec2 = boto3.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24", AvailabilityZone=f"{REGION}b")["Subnet"]

    offered = Zones().offering({"g5.xlarge", "g99.xlarge"})

    assert f"{REGION}a" in offered["g5.xlarge"]
    assert offered["g99.xlarge"] == frozenset()
    # AWS keeps five addresses of each subnet.
    assert Zones().of_subnets([made["SubnetId"]]) == ((f"{REGION}b",), 256 - 5)
    assert Zones().offering([]) == {}
    assert Zones().of_subnets([]) == ((), None)
    assert list(Zones().ids()) == [f"{REGION}a", f"{REGION}b", f"{REGION}c"]
    assert all(each.startswith("euc1-az") for each in Zones().ids().values())


def plain(kind: str, *, management: bool = True) -> dict[str, Any]:
    return {"EventSelectors": [{"ReadWriteType": kind, "IncludeManagementEvents": management}]}


def advanced(**fields: str) -> dict[str, Any]:
    selectors = [{"Field": name, "Equals": [value]} for name, value in fields.items()]
    return {"AdvancedEventSelectors": [{"FieldSelectors": selectors}]}


@pytest.mark.parametrize(("selectors", "changes"), [
    ({}, True),
    (plain("All"), True),
    (plain("WriteOnly"), True),
    (plain("ReadOnly"), False),
    (plain("All", management=False), False),
    (advanced(eventCategory="Management"), True),
    (advanced(eventCategory="Management", readOnly="true"), False),
    (advanced(eventCategory="Data"), False),
])  # fmt: skip
def test_a_trail_records_changes_by_what_it_selects(selectors: dict[str, Any], changes: bool) -> None:
    cloudtrail = boto3.client("cloudtrail")
    with Stubber(cloudtrail) as stub:
        described = {"Name": "one", "TrailARN": "arn:one", "HomeRegion": REGION}
        elsewhere = {"Name": "two", "TrailARN": "arn:two", "HomeRegion": "us-east-1"}
        stub.add_response("describe_trails", {"trailList": [described, elsewhere]})
        stub.add_response("get_trail_status", {"IsLogging": True}, {"Name": "arn:one"})
        stub.add_response("get_event_selectors", selectors, {"TrailName": "arn:one"})

        assert Trails(cloudtrail).recording(REGION) == (Trail("one", logging=True, changes=changes),)


@pytest.mark.parametrize(("value", "missing"), [
    ('{"signing_secret": "a", "bot_token": "b"}', ()),
    ('{"signing_secret": "", "bot_token": "b"}', ("signing_secret",)),
    ('{"signing_secret": "a", "bot_token": " "}', ("bot_token",)),
    ("[]", ("signing_secret", "bot_token")),
    ("a", ("signing_secret", "bot_token")),
])  # fmt: skip
def test_a_secret_tells_what_is_missing_and_nothing_else(value: str, missing: tuple[str, ...]) -> None:
    boto3.client("secretsmanager").create_secret(Name="lab-slack", SecretString=value)
    found = SlackSecrets().read("lab-slack")
    assert (found.name, found.missing) == ("lab-slack", missing)


def test_a_secret_that_is_not_there_or_has_no_value_misses_everything() -> None:
    boto3.client("secretsmanager").create_secret(Name="empty")
    assert SlackSecrets().read("empty").missing == ("signing_secret", "bot_token")
    assert SlackSecrets().read("nowhere").missing == ("signing_secret", "bot_token")


class Answers:
    """A cluster's API server, for the reads."""

    server_time = None

    def __init__(self, nodepools: list[dict[str, Any]] | None, *images: str) -> None:
        self._nodepools, self._images = nodepools, images

    def list(self, path: str) -> list[dict[str, Any]]:
        if path.startswith("/apis/karpenter.sh"):
            if self._nodepools is None:
                raise OutsideFailed("403")
            return self._nodepools
        return [
            {
                "metadata": {"namespace": "any", "name": f"deployment-{number}"},
                "spec": {"template": {"spec": {"containers": [{"image": image}]}}},
            }
            for number, image in enumerate(self._images)
        ]


KARPENTER = "public.ecr.aws/karpenter/controller:1.8.1@sha256:00"


def nodepool(*requirements: dict[str, Any]) -> dict[str, Any]:
    spec = {"template": {"spec": {"requirements": list(requirements)}}}
    return {"metadata": {"name": "default"}, "spec": spec}


@pytest.mark.parametrize(("requirement", "may"), [
    ({}, True),
    ({"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}, True),
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"}, False),
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Lt", "values": ["1"]}, False),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m"]}, False),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "g"]}, True),
    ({"key": "karpenter.k8s.aws/instance-family", "operator": "NotIn", "values": ["m5"]}, True),
    ({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["t3.medium"]}, False),
])  # fmt: skip
def test_a_nodepool_may_start_gpus_unless_a_requirement_keeps_them_out(
    requirement: dict[str, Any], may: bool
) -> None:
    cluster: Any = Answers([nodepool(requirement)], KARPENTER)
    assert seen(cluster).autoscalers.nodepools == (("default",) if may else ())


def test_nodepools_that_may_not_be_listed_leave_the_operator_known() -> None:
    cluster: Any = Answers(None, KARPENTER, "nvcr.io/nvidia/gpu-operator:v26.3.1")
    found = seen(cluster)
    assert not found.autoscalers.asked
    assert found.operator == "v26.3.1"


def test_a_cluster_without_karpenter_is_not_asked_for_nodepools() -> None:
    cluster: Any = Answers(None, "registry.k8s.io/coredns:v1.12")
    assert seen(cluster).autoscalers.asked
    assert seen(cluster).operator is None
