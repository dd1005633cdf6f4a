"""Node groups as EKS has them: what it refuses, what is behind them, and what becomes of their nodes."""

import json
from uuid import UUID

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.eks_lab import GPU, SIZES, Lab, Machines


@pytest.fixture
def lab(aws):
    return Lab(aws)


def code_of(refusal):
    return refusal.value.response["Error"]["Code"]


def test_a_name_is_taken_while_its_group_exists(lab):
    lab.ready()
    with pytest.raises(ClientError, match="NodeGroup already exists with name lab-ng-gpu") as refusal:
        lab.create()
    assert code_of(refusal) == "ResourceInUseException"
    with pytest.raises(ClientError, match="nodegroups attached"):
        lab.aws.call("eks", "delete_cluster", name="lab")
    lab.aws.call("eks", "delete_nodegroup", **GPU)
    lab.until(lambda: lab.aws.call("eks", "list_nodegroups", clusterName="lab")["nodegroups"] == [])
    assert lab.aws.call("autoscaling", "describe_auto_scaling_groups")["AutoScalingGroups"] == []
    lab.ready()


def test_behind_a_node_group_is_an_auto_scaling_group_that_carries_its_own_tags_only(lab):
    nodegroup = lab.ready().nodegroup()
    group = lab.group()
    assert [group["AutoScalingGroupName"]] == [g["name"] for g in nodegroup["resources"]["autoScalingGroups"]]
    assert group["AutoScalingGroupName"].startswith("eks-lab-ng-gpu-")
    tags = {tag["Key"]: tag["Value"] for tag in group["Tags"]}
    assert tags["eks:nodegroup-name"] == "lab-ng-gpu"
    assert tags["k8s.io/cluster-autoscaler/lab"] == "owned"
    assert "course" not in tags
    assert nodegroup["tags"] == {"course": "gpu"}


def test_whatever_eks_has_is_tagged_by_its_arn(lab):
    lab.ready()
    role = "arn:aws:iam::123456789012:role/people"
    arns = [
        lab.cluster()["arn"],
        lab.nodegroup()["nodegroupArn"],
        lab.aws.call("eks", "create_addon", clusterName="lab", addonName="coredns")["addon"]["addonArn"],
        lab.aws.call("eks", "create_access_entry", clusterName="lab", principalArn=role)["accessEntry"][
            "accessEntryArn"
        ],
    ]
    for arn in arns:
        lab.aws.call("eks", "tag_resource", resourceArn=arn, tags={"a": "b", "c": "d"})
        lab.aws.call("eks", "untag_resource", resourceArn=arn, tagKeys=["a"])
        tags = lab.aws.call("eks", "list_tags_for_resource", resourceArn=arn)["tags"]
        assert tags["c"] == "d"
        assert "a" not in tags


def test_nodes_come_with_their_tags_addresses_and_virtual_times(lab):
    before = lab.clock.now()
    lab.ready().opened(2)
    first = lab.instances("running")[0]
    tags = {tag["Key"]: tag["Value"] for tag in first["Tags"]}
    assert tags["eks:nodegroup-name"] == "lab-ng-gpu"
    assert tags["aws:autoscaling:groupName"] == lab.group()["AutoScalingGroupName"]
    assert tags["Name"] == "gpu"
    assert not {"course", "k8s.io/cluster-autoscaler/enabled"} & set(tags)
    assert first["PrivateDnsName"] == (
        f"ip-{first['PrivateIpAddress'].replace('.', '-')}.ap-northeast-2.compute.internal"
    )
    assert first["MetadataOptions"]["HttpTokens"] == "required"
    assert before.timestamp() - 1 <= first["LaunchTime"].timestamp() <= lab.clock.time()
    activity = lab.activities()[0]
    assert activity["StatusCode"] == "Successful"
    assert "increasing the capacity from 1 to 2" in activity["Cause"]
    assert activity["EndTime"] > activity["StartTime"]


def test_one_update_at_a_time_while_the_status_stays_active(lab):
    lab.ready()
    update = lab.scale(2)
    assert lab.update(update["id"])["status"] == "InProgress"
    assert lab.nodegroup()["status"] == "ACTIVE"
    with pytest.raises(ClientError, match="currently not in Active State") as refusal:
        lab.scale(0)
    assert code_of(refusal) == "ResourceInUseException"
    lab.until(lambda: lab.update(update["id"])["status"] == "Successful")
    assert lab.aws.call("eks", "list_updates", name="lab", nodegroupName="lab-ng-gpu")["updateIds"] == [
        update["id"]
    ]


def test_a_request_with_the_token_of_another_names_its_update_and_begins_none(lab):
    lab.ready()
    asked = {**GPU, "scalingConfig": {"desiredSize": 1}, "clientRequestToken": str(UUID(int=1))}
    first = lab.aws.call("eks", "update_nodegroup_config", **asked)["update"]
    assert lab.aws.call("eks", "update_nodegroup_config", **asked)["update"]["id"] == first["id"]
    lab.until(lambda: lab.update(first["id"])["status"] == "Successful")
    again = lab.aws.call("eks", "update_nodegroup_config", **asked)["update"]
    assert (again["id"], again["status"]) == (first["id"], "Successful")


#: What is asked of EKS, and what it says. kubernetes-sigs/cluster-api-provider-aws 3435;
#: ansible-collections/community.aws 844.
REFUSED: tuple[tuple[dict, str], ...] = (
    ({}, "InvalidParameterException.*You cannot specify an empty request"),
    ({"clientRequestToken": "deploy-1"}, "InvalidParameterException.*must be between 33 and 126 characters"),
    ({"clientRequestToken": "d" * 127}, "InvalidParameterException.*must be between 33 and 126 characters"),
    ({"scalingConfig": {"desiredSize": 3}}, "InvalidParameterException"),
    ({"scalingConfig": {"minSize": 1, "desiredSize": 0}}, "InvalidParameterException"),
    ({"scalingConfig": {"maxSize": 0}}, "maxSize"),
)


def test_an_update_that_eks_refuses_changes_nothing(lab):
    lab.ready()
    for request, says in REFUSED:
        with pytest.raises(Exception, match=says):
            lab.aws.call("eks", "update_nodegroup_config", **GPU, **request)
    assert lab.nodegroup()["scalingConfig"] == SIZES


class HoldsDrains(Machines):
    """A fleet that holds drains until told."""

    def __init__(self, clock):
        self.events = []
        self.leave = clock.event()

    def machine_started(self, machine):
        self.events.append(("started", machine.instance_id))
        self.last = machine

    def machine_stopping(self, instance_id):
        self.events.append(("stopping", instance_id))

    def machine_stopped(self, instance_id):
        self.events.append(("stopped", instance_id))

    def drain(self, instance_id):
        self.events.append(("drain", instance_id))
        self.leave.wait()


def test_a_scale_in_drains_first_and_completing_the_action_ends_the_wait(lab):
    machines = HoldsDrains(lab.clock)
    lab.moto_additions.fleet(machines)
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}
    lab.ready(taints=[taint], labels={"tier": "gpu"}).opened(1)
    assert machines.last.taints == [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}]
    assert machines.last.labels["tier"] == "gpu"
    lab.scale(0)
    lab.clock.wait_until(None, lambda: any(what == "drain" for what, _ in machines.events))
    (waiting,) = lab.members("Terminating:Wait")
    assert lab.activities()[0]["StatusCode"] == "MidLifecycleAction"
    group = lab.group()["AutoScalingGroupName"]
    hooks = lab.aws.call("autoscaling", "describe_lifecycle_hooks", AutoScalingGroupName=group)
    assert "Terminate-LC-Hook" in {hook["LifecycleHookName"] for hook in hooks["LifecycleHooks"]}
    lab.aws.call(
        "autoscaling",
        "complete_lifecycle_action",
        AutoScalingGroupName=group,
        LifecycleHookName="Terminate-LC-Hook",
        LifecycleActionResult="CONTINUE",
        InstanceId=waiting,
    )
    lab.until(lambda: not lab.group()["Instances"], 120)
    assert [what for what, _ in machines.events] == ["started", "drain", "stopping", "stopped"]
    assert lab.instances("terminated")[0]["InstanceId"] == waiting


def test_a_drain_that_does_not_end_is_waited_for_fifteen_minutes(lab):
    lab.moto_additions.fleet(HoldsDrains(lab.clock))
    lab.ready().opened(1)
    begun = lab.clock.time()
    lab.scale(0)
    lab.until(lambda: not lab.instances())
    assert 15 * 60 <= lab.clock.time() - begun <= 17 * 60


def test_a_zone_without_capacity_is_passed_over_where_there_are_others(lab):
    lab.ready(subnets=lab.subnets[:2])
    lab.moto_additions.faults.no_capacity("ap-northeast-2a")
    lab.opened(2)
    assert {i["Placement"]["AvailabilityZone"] for i in lab.instances()} == {"ap-northeast-2b"}


def test_termination_protection_of_ec2_keeps_auto_scaling_from_nothing(lab):
    (member,) = lab.ready().opened(1).members()
    protected = {"InstanceId": member, "DisableApiTermination": {"Value": True}}
    lab.aws.call("ec2", "modify_instance_attribute", **protected)
    with pytest.raises(ClientError, match="OperationNotPermitted"):
        lab.aws.call("ec2", "terminate_instances", InstanceIds=[member])
    lab.scale(0)
    lab.until(lambda: bool(lab.instances("terminated")))


def test_what_is_done_to_the_auto_scaling_group_shows_in_eks_later(lab):
    lab.ready().opened(2)
    lab.aws.call(
        "autoscaling",
        "update_auto_scaling_group",
        AutoScalingGroupName=lab.group()["AutoScalingGroupName"],
        MinSize=0,
        DesiredCapacity=0,
    )
    assert lab.nodegroup()["scalingConfig"]["desiredSize"] == 2
    lab.until(lambda: lab.nodegroup()["scalingConfig"]["desiredSize"] == 0, 90)


def test_a_named_instance_is_taken_and_not_replaced(lab):
    first, second = lab.ready().opened(2).members()
    activity = lab.aws.call(
        "autoscaling",
        "terminate_instance_in_auto_scaling_group",
        InstanceId=first,
        ShouldDecrementDesiredCapacity=True,
    )["Activity"]
    assert first in activity["Description"]
    lab.until(lambda: len(lab.group()["Instances"]) == 1)
    lab.clock.sleep(300)
    assert (lab.members(), lab.group()["DesiredCapacity"]) == ([second], 1)


def test_an_instance_terminated_by_hand_is_replaced(lab):
    (first,) = lab.ready().opened(1).members()
    lab.aws.call("ec2", "terminate_instances", InstanceIds=[first])
    lab.until(lambda: bool(lab.members()) and lab.members() != [first])
    assert "EC2 health check" in " ".join(activity["Cause"] for activity in lab.activities())


def test_a_new_template_version_rolls_and_brings_gpus_even_at_zero(lab):
    lab.ready()
    lab.aws.call(
        "ec2",
        "create_launch_template_version",
        LaunchTemplateId=lab.template,
        LaunchTemplateData={"InstanceType": "g5.xlarge"},
    )
    template = {"id": lab.template, "version": "2"}
    update = lab.aws.call("eks", "update_nodegroup_version", **GPU, launchTemplate=template)["update"]
    assert lab.nodegroup()["status"] == "UPDATING"
    lab.until(lambda: lab.update(update["id"])["status"] == "Successful")
    lab.until(lambda: not lab.group()["Instances"])
    launched = [one for one in lab.activities() if one["Description"].startswith("Launching")]
    assert [one["StatusCode"] for one in launched] == ["Successful"] * 2
    assert (lab.group()["MaxSize"], lab.nodegroup()["scalingConfig"]) == (2, SIZES)


def test_the_groups_events_are_on_the_default_bus(lab):
    url, queue = lab.aws.queue("events")
    pattern = (
        '{"source":["aws.autoscaling"],"detail":{"AutoScalingGroupName":[{"prefix":"eks-lab-ng-gpu-"}]}}'
    )
    lab.aws.call("events", "put_rule", Name="asg", EventPattern=pattern)
    lab.aws.call("events", "put_targets", Rule="asg", Targets=[{"Id": "q", "Arn": queue}])
    lab.ready().opened(1)
    event = json.loads(lab.aws.message(url)["Body"])
    assert event["detail-type"] == "EC2 Instance Launch Successful"
    assert event["detail"]["EC2InstanceId"] == lab.members()[0]
    assert event["resources"][0] == lab.group()["AutoScalingGroupARN"]
    assert event["time"].endswith("Z")
