"""Instances without a node group: which of them become machines of a cluster, and when the cluster lets them in."""

import json

import pytest

from tests.local.aws.eks_lab import Lab, Machines
from tests.local.karpenter_user_data import LABELS, node_config

AL2023 = "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260724"


class Reports(Machines):
    """What EC2 and EKS report."""

    def __init__(self):
        self.started, self.reported = {}, []

    def machine_started(self, machine):
        self.started[machine.instance_id] = machine
        self.reported.append((machine.instance_id, "started"))

    def machine_stopping(self, instance_id):
        self.reported.append((instance_id, "stopping"))

    def machine_off(self, instance_id):
        self.reported.append((instance_id, "off"))

    def machine_stopped(self, instance_id):
        self.reported.append((instance_id, "stopped"))

    def drain(self, instance_id): ...


class SelfManaged(Lab):
    """The cluster, and instances that somebody starts in it by hand."""

    def __init__(self, aws, machines):
        super().__init__(aws)
        self.machines = machines
        self.moto_additions.fleet(machines)

    def profile(self, name="karpenter-nodes"):
        role = self.aws.role(name)
        self.aws.call("iam", "create_instance_profile", InstanceProfileName=name)
        self.aws.call("iam", "add_role_to_instance_profile", InstanceProfileName=name, RoleName=name)
        return role

    def run(self, text=None, *, image=AL2023, profile="karpenter-nodes"):
        registered = self.aws.call("ec2", "register_image", Name=image, Architecture="x86_64")
        request = {
            "ImageId": registered["ImageId"],
            "InstanceType": "g5.xlarge",
            "SubnetId": self.subnets[0],
            "MinCount": 1,
            "MaxCount": 1,
            "UserData": node_config() if text is None else text,
            "IamInstanceProfile": {"Name": profile} if profile else {},
        }
        found = self.aws.call(
            "ec2", "run_instances", **{key: value for key, value in request.items() if value}
        )
        instance = found["Instances"][0]["InstanceId"]
        self.until(lambda: self.state(instance) == "running")
        return instance

    def state(self, instance):
        found = self.aws.call("ec2", "describe_instances", InstanceIds=[instance])["Reservations"]
        return found[0]["Instances"][0]["State"]["Name"] if found else "terminated"

    def admits(self, instance):
        return self.moto_additions.self_managed.admits(instance)


@pytest.fixture
def lab(aws):
    return SelfManaged(aws, Reports())


def test_an_instance_becomes_a_machine_as_its_user_data_says(lab):
    lab.profile()
    instance = lab.run()

    machine = lab.machines.started[instance]
    assert (machine.cluster, machine.nodegroup, machine.cannot_join) == ("lab", "lab-gpu", "")
    assert (machine.instance_type, machine.zone) == ("g5.xlarge", "ap-northeast-2a")
    assert dict(machine.labels) == LABELS
    assert {taint["key"] for taint in machine.taints} == {"nvidia.com/gpu", "karpenter.sh/unregistered"}
    assert machine.nvidia_image


def test_the_kubelet_is_let_in_only_with_an_access_entry_for_its_role(lab):
    role = lab.profile()
    instance = lab.run()
    assert not lab.admits(instance)

    entry = {"clusterName": "lab", "principalArn": role}
    lab.aws.call("eks", "create_access_entry", **entry)
    assert not lab.admits(instance), "an entry for people lets no kubelet in"

    lab.aws.call("eks", "delete_access_entry", **entry)
    lab.aws.call("eks", "create_access_entry", **entry, type="EC2_LINUX")
    assert lab.admits(instance)


def test_an_instance_without_a_profile_is_not_let_in(lab):
    instance = lab.run(profile="")

    assert instance in lab.machines.started
    assert not lab.admits(instance)


def test_an_instance_whose_data_does_not_fit_runs_and_never_joins(lab):
    lab.profile()
    instance = lab.run(node_config(cluster="other"))

    assert lab.state(instance) == "running"
    assert "names cluster other" in lab.machines.started[instance].cannot_join


def test_an_instance_without_user_data_is_no_machine_of_the_cluster(lab):
    lab.profile()

    assert lab.run("") not in lab.machines.started


def test_a_machine_of_a_node_group_is_reported_once(lab):
    lab.ready()
    lab.opened(1)
    (instance,) = lab.members()
    lab.scale(0)
    lab.until(lambda: lab.state(instance) == "terminated")

    changes = [change for who, change in lab.machines.reported if who == instance]
    assert changes == ["started", "stopping", "stopped"]
    assert lab.admits(instance)


def test_a_terminated_instance_ends_its_machine(lab):
    lab.profile()
    instance = lab.run()
    lab.aws.call("ec2", "terminate_instances", InstanceIds=[instance])
    lab.until(lambda: lab.state(instance) == "terminated")

    assert lab.machines.reported == [(instance, "started"), (instance, "stopping"), (instance, "stopped")]


def test_a_stopped_instance_is_off_and_may_start_again(lab):
    lab.profile()
    instance = lab.run()
    lab.aws.call("ec2", "stop_instances", InstanceIds=[instance])
    assert lab.state(instance) == "stopping"
    lab.until(lambda: lab.state(instance) == "stopped")
    lab.aws.call("ec2", "start_instances", InstanceIds=[instance])
    assert lab.state(instance) == "pending"
    lab.until(lambda: lab.state(instance) == "running")

    changes = [change for _, change in lab.machines.reported]
    assert changes == ["started", "stopping", "off", "started"]


class TestEvents:
    """A queue that gets what a rule takes, as Karpenter's."""

    @pytest.fixture
    def url(self, lab):
        url, arn = lab.aws.queue("interruptions")
        pattern = json.dumps({"source": ["aws.ec2", "aws.health"]})
        lab.aws.call("events", "put_rule", Name="all", EventPattern=pattern)
        lab.aws.call("events", "put_targets", Rule="all", Targets=[{"Id": "1", "Arn": arn}])
        lab.profile()
        return url

    @pytest.fixture
    def told(self, lab, url):
        def events():
            lab.clock.sleep(1)
            found: list[dict] = []
            while True:
                request = {"QueueUrl": url, "MaxNumberOfMessages": 10}
                messages = lab.aws.call("sqs", "receive_message", **request).get("Messages", [])
                if not messages:
                    return found
                for message in messages:
                    found.append(json.loads(message["Body"]))
                    receipt = message["ReceiptHandle"]
                    lab.aws.call("sqs", "delete_message", QueueUrl=url, ReceiptHandle=receipt)

        return events

    def test_every_change_of_state_is_an_event(self, lab, told):
        instance = lab.run()
        lab.aws.call("ec2", "terminate_instances", InstanceIds=[instance])
        lab.until(lambda: lab.state(instance) == "terminated")

        events = told()
        assert {event["detail-type"] for event in events} == {"EC2 Instance State-change Notification"}
        assert {event["source"] for event in events} == {"aws.ec2"}
        assert {event["resources"][0].rpartition("/")[2] for event in events} == {instance}
        states = [event["detail"]["state"] for event in sorted(events, key=lambda event: event["time"])]
        assert states == ["pending", "running", "shutting-down", "terminated"]

    def test_a_spot_interruption_is_announced_two_minutes_before_it_comes(self, lab, told):
        instance = lab.run()
        told()
        lab.moto_additions.instance_events.interrupt(instance)

        (warning,) = told()
        assert warning["detail-type"] == "EC2 Spot Instance Interruption Warning"
        assert warning["detail"] == {"instance-id": instance, "instance-action": "terminate"}
        lab.clock.sleep(110)
        assert lab.state(instance) == "running"
        lab.clock.sleep(15)
        assert lab.state(instance) == "shutting-down"

    def test_a_rebalance_recommendation_and_maintenance_end_nothing(self, lab, told):
        instance = lab.run()
        told()
        lab.moto_additions.instance_events.recommend_rebalance(instance)
        lab.moto_additions.instance_events.schedule_change(instance)

        rebalance, maintenance = sorted(told(), key=lambda event: event["source"])
        assert rebalance["detail"] == {"instance-id": instance}
        assert maintenance["source"] == "aws.health"
        assert maintenance["detail"]["service"] == "EC2"
        assert maintenance["detail"]["affectedEntities"] == [{"entityValue": instance}]
        lab.clock.sleep(600)
        assert lab.state(instance) == "running"
