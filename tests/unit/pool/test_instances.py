"""EC2's answer about an instance, above all when it stopped costing money, and how instances are terminated."""

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import botocore
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto.ec2.models import ec2_backends

from lamplighter import clock
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling
from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.domain.capacity.unlisted import LISTED_WITHIN, SURE_WITHIN
from lamplighter.errors import OutsideFailed
from tests.checkout import ROOT
from tests.unit import aws_calls
from tests.unit.lab_on_moto import IMAGE, LabOnMoto

LAUNCHED = datetime(2026, 12, 1, 8, 0, tzinfo=UTC)
ENDED = datetime(2026, 12, 1, 8, 20, 18, tzinfo=UTC)

ONE = {"InstanceId": "i-0abc", "InstanceType": "g5.xlarge", "LaunchTime": LAUNCHED}
POOL = {"eks:kubernetes-node-pool-name": "lab-gpu", "eks:eks-cluster-name": "lab"}


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("running", None),
        ("shutting-down", ENDED),  # EC2 bills no instance that is on its way out, however long that takes
        ("terminated", ENDED),
    ],
)
def test_an_instance_has_cost_until_its_termination_began(state: str, ended: datetime | None) -> None:
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")
    reason = "" if state == "running" else f"User initiated ({ENDED:%Y-%m-%d %H:%M:%S} GMT)"
    instance = {**ONE, "State": {"Name": state}, "StateTransitionReason": reason}
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": [instance]}]})
        (found,) = Instances(ec2).tagged({"eks:nodegroup-name": "lab-ng-gpu"}, "lab/lab-ng-gpu")
    assert found.ended == ended


@pytest.mark.parametrize("reservation", [
    {},
    {"Instances": [{"LaunchTime": LAUNCHED, "State": {"Name": "terminated"}}]},
    {"Instances": [ONE]},
    {"Instances": [{**ONE, "State": {"Name": "ended?"}}]},
    {"Instances": [{**ONE, "State": {"Name": "running"}, "InstanceType": "{}"}]},
])  # fmt: skip
def test_an_answer_that_is_none_says_nothing_of_what_is_there(reservation: dict[str, object]) -> None:
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [reservation]})
        with pytest.raises(OutsideFailed):
            Instances(ec2).tagged(POOL, "lab/lab-gpu")


def test_an_instance_that_is_listed_twice_is_one() -> None:
    """A lease of one node justifies it: as two, one of them would be a stray."""
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")
    running = {**ONE, "State": {"Name": "running"}}
    with Stubber(ec2) as stub:
        stub.add_response("describe_instances", {"Reservations": [{"Instances": [running]}] * 2})
        assert len(Instances(ec2).tagged(POOL, "lab/lab-gpu")) == 1


def test_every_list_asks_for_the_instances_that_ec2_hides() -> None:
    """Those of EKS Auto Mode: a list without them would prove zero while they bill."""
    ec2 = boto3.client("ec2", region_name="ap-northeast-2")

    def asked(tags: dict[str, str]) -> dict[str, object]:
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()]
        return {"Filters": filters, "IncludeManagedResources": True}

    of_cluster = [{"kubernetes.io/cluster/lab": "owned"}, {"eks:eks-cluster-name": "lab"}]
    hidden = {**ONE, "State": {"Name": "running"}}
    with Stubber(ec2) as stub:
        for tags in (POOL, *of_cluster):
            answer = {"Reservations": [{"Instances": [hidden]}]}
            stub.add_response("describe_instances", answer, asked(tags))
        pool = Instances(ec2).tagged(POOL, "lab/lab-gpu")
        cluster = Instances(ec2).of_cluster("lab")

    assert [instance.id for instance in pool] == [instance.id for instance, _ in cluster] == ["i-0abc"]


def test_the_parameter_is_one_that_the_locked_sdk_knows() -> None:
    """The layer brings the SDK of lambdas/requirements.txt, so Lambda's own, which may be older, is not used."""
    locked = (ROOT / "lambdas/requirements.txt").read_text("utf-8")
    model = boto3.client("ec2", region_name="ap-northeast-2").meta.service_model
    asked = model.operation_model("DescribeInstances").input_shape

    assert f"botocore=={botocore.__version__} " in locked
    assert asked is not None
    assert "IncludeManagedResources" in asked.members


def test_an_instance_that_lost_its_node_pool_s_tag_is_still_seen_by_the_cluster_s(lab: LabOnMoto) -> None:
    """A person may change the tags of instances, also on Auto Mode: the guard then reports it as outside the pools."""
    made = lab.instance(POOL)
    seen = Instances()
    assert [one.id for one in seen.tagged(POOL, "lab/lab-gpu")] == [made]

    boto3.client("ec2").delete_tags(Resources=[made], Tags=[{"Key": "eks:kubernetes-node-pool-name"}])

    assert seen.tagged(POOL, "lab/lab-gpu") == ()
    assert [(one.id, one.type) for one, _ in seen.of_cluster("lab")] == [(made, "g5.xlarge")]


def half_a_list(lab: LabOnMoto, *, age: timedelta = 2 * LISTED_WITHIN) -> NodeGroupCapacity:
    """The port, to which Auto Scaling lists a group without the instance that it has started."""
    lab.scale(1)
    [instance] = lab.members
    # moto dates it by the machine's clock.
    started = ec2_backends["123456789012"]["ap-northeast-2"].get_instance(instance)
    started.launch_time = (clock.now() - age).replace(tzinfo=None)
    asg = boto3.Session().client("autoscaling")

    def lose(parsed: dict[str, Any], **_: object) -> None:
        for group in parsed["AutoScalingGroups"]:
            group.pop("Instances")

    asg.meta.events.register("after-call.autoscaling.DescribeAutoScalingGroups", lose)
    port = NodeGroupCapacity(lab.capacity.lab)
    port.autoscaling = AutoScaling(asg)
    return port


def test_an_instance_that_its_group_s_list_lacks_is_no_stray(lab: LabOnMoto) -> None:
    """A list may be half of itself: Auto Scaling is asked for the instance by its id."""
    seen = half_a_list(lab).see("gpu")

    assert [member.instance for member in seen.members] == [each.id for each in seen.alive] == lab.members


def test_a_new_instance_is_not_asked_for(lab: LabOnMoto) -> None:
    """Beside an old list it would be one node too many: the list may still have the one that it replaces."""
    assert half_a_list(lab, age=LISTED_WITHIN / 2).see("gpu").members == ()


@pytest.mark.parametrize(("age", "known"), [(SURE_WITHIN / 2, False), (SURE_WITHIN, True)])
def test_an_instance_of_which_nobody_says_whose_it_is_is_no_stray_for_an_hour(
    lab: LabOnMoto, age: timedelta, known: bool
) -> None:
    port = half_a_list(lab, age=age)

    def denied(**_: object) -> None:
        error: Any = {"Error": {"Code": "AccessDenied", "Message": "by a policy of the organisation"}}
        raise ClientError(error, "DescribeAutoScalingInstances")

    port.autoscaling._asg.meta.events.register("before-call.autoscaling.DescribeAutoScalingInstances", denied)
    seen = port.see("gpu")

    assert (seen.members, seen.unsure) == ((), frozenset() if known else {each.id for each in seen.alive})


def test_an_instance_that_left_its_group_is_a_stray(lab: LabOnMoto) -> None:
    port = half_a_list(lab)
    [instance] = lab.members
    tag: Any = {"Key": "aws:autoscaling:groupName", "Value": lab.group}
    boto3.client("autoscaling").detach_instances(
        InstanceIds=[instance], AutoScalingGroupName=lab.group, ShouldDecrementDesiredCapacity=True
    )
    boto3.client("ec2").create_tags(Resources=[instance], Tags=[tag])

    seen = port.see("gpu")

    assert ([each.controller for each in seen.alive], seen.members) == ([lab.group], ())


def test_members_come_in_pages_and_each_counts_once() -> None:
    asg = boto3.client("autoscaling", region_name="ap-northeast-2")
    one: Any = {
        "InstanceId": "i-0abc",
        "AutoScalingGroupName": "eks-gpu",
        "AvailabilityZone": "ap-northeast-2a",
        "LifecycleState": "InService",
        "HealthStatus": "HEALTHY",
        "ProtectedFromScaleIn": False,
    }
    pages: Any = ([one, {**one, "InstanceId": "i-0bad", "AutoScalingGroupName": "eks-other"}], [one], [])
    with Stubber(asg) as stub:
        for token, page in enumerate(pages, 1):
            more = {"NextToken": str(token)} if token < len(pages) else {}
            stub.add_response("describe_auto_scaling_instances", {"AutoScalingInstances": page, **more})
        members = AutoScaling(asg).members("eks-gpu", ["i-0abc", "i-0bad"])

    assert [member.instance for member in members] == ["i-0abc"]


UNKNOWN = "i-0123456789abcdef0"


@pytest.fixture
def ids(lab: LabOnMoto) -> list[str]:
    made = boto3.client("ec2").run_instances(ImageId=IMAGE, MinCount=3, MaxCount=3)
    return [each["InstanceId"] for each in made["Instances"]]


def running(ids: list[str]) -> list[str]:
    described = boto3.client("ec2").describe_instances(InstanceIds=ids)["Reservations"]
    return [
        one["InstanceId"]
        for each in described
        for one in each["Instances"]
        if one["State"]["Name"] == "running"
    ]


def test_an_unknown_instance_keeps_no_other(ids: list[str]) -> None:
    Instances().terminate([UNKNOWN, *ids])
    assert running(ids) == []


def test_a_protected_instance_keeps_no_other_and_is_told(ids: list[str]) -> None:
    boto3.client("ec2").modify_instance_attribute(InstanceId=ids[0], DisableApiTermination={"Value": True})
    with pytest.raises(OutsideFailed, match=ids[0]):
        Instances().terminate(ids)
    assert running(ids) == [ids[0]]


def test_one_call_is_enough_for_instances_that_all_end(ids: list[str]) -> None:
    calls: list[str] = []
    with aws_calls.heard(lambda _service, operation, _given: calls.append(operation)):
        Instances().terminate(ids)
    assert (calls, running(ids)) == (["TerminateInstances"], [])
