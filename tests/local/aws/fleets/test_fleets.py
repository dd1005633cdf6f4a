"""A fleet of the type `instant` launches what its launch template says, and tells what it cannot launch.

Source: EC2 API reference, CreateFleet; EC2 user guide, "EC2 Fleet allocation strategies".
"""

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.fleets.fleet_lab import POOL, TAGS, ZONES, FleetLab


@pytest.fixture
def lab(aws):
    aws.hold()
    return FleetLab(aws)


def state(lab, fleet):
    return lab.instance(fleet)["State"]["Name"]


def test_an_instance_has_what_its_launch_template_says(lab):
    fleet = lab.fleet()
    instance = lab.instance(fleet)
    assert fleet["Errors"] == []
    assert instance["InstanceType"] == "g5.xlarge"
    assert instance["SubnetId"] == lab.subnets[ZONES[0]]
    assert [group["GroupId"] for group in instance["SecurityGroups"]] == [lab.group]
    assert [group["GroupId"] for group in instance["NetworkInterfaces"][0]["Groups"]] == [lab.group]
    assert instance["IamInstanceProfile"]["Arn"].endswith(":instance-profile/nodes")
    assert instance["Placement"]["AvailabilityZone"] == ZONES[0]
    assert instance["Placement"]["AvailabilityZoneId"]
    assert instance["PrivateDnsName"].endswith(".ap-northeast-2.compute.internal")
    assert instance["MetadataOptions"]["HttpTokens"] == "required"
    assert "SpotInstanceRequestId" not in instance
    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert tags == TAGS | {
        "aws:ec2:fleet-id": fleet["FleetId"],
        "aws:ec2launchtemplate:id": tags["aws:ec2launchtemplate:id"],
        "aws:ec2launchtemplate:version": "1",
    }


def test_an_answer_names_the_image_zone_and_subnet_of_the_launched_choice(lab):
    [launched] = lab.fleet("g5.xlarge", zones=ZONES[1:])["Instances"]
    assert launched["Lifecycle"] == "on-demand"
    assert launched["InstanceType"] == "g5.xlarge"
    chosen = launched["LaunchTemplateAndOverrides"]["Overrides"]
    assert chosen["AvailabilityZone"] == ZONES[1]
    assert chosen["SubnetId"] == lab.subnets[ZONES[1]]
    assert chosen["ImageId"] == "ami-0123456789abcdef0"


def test_an_instance_starts_and_ends_as_one_of_a_node_group_does(lab):
    fleet = lab.fleet()
    launched = lab.instance(fleet)
    assert launched["State"]["Name"] == "pending"
    assert 0 <= lab.clock.time() - launched["LaunchTime"].timestamp() < 2
    lab.clock.sleep(60)
    assert state(lab, fleet) == "running"
    lab.aws.call("ec2", "terminate_instances", InstanceIds=[launched["InstanceId"]])
    assert state(lab, fleet) == "shutting-down"
    lab.clock.sleep(60)
    assert state(lab, fleet) == "terminated"


def test_the_cheapest_type_is_tried_first(lab):
    assert lab.fleet("g5.2xlarge", "g5.xlarge")["Instances"][0]["InstanceType"] == "g5.xlarge"


def test_priorities_outweigh_prices_where_the_strategy_says_so(lab):
    named = {"LaunchTemplateName": "karpenter.k8s.aws/1", "Version": "$Latest"}
    subnet = lab.subnets[ZONES[0]]
    overrides = [
        {"InstanceType": kind, "SubnetId": subnet, "Priority": priority}
        for kind, priority in (("g5.xlarge", 2.0), ("g5.2xlarge", 1.0))
    ]
    configs = [{"LaunchTemplateSpecification": named, "Overrides": overrides}]
    strategy = {"AllocationStrategy": "prioritized"}
    fleet = lab.fleet(LaunchTemplateConfigs=configs, OnDemandOptions=strategy)
    assert fleet["Instances"][0]["InstanceType"] == "g5.2xlarge"


def test_a_spot_instance_has_a_request_id(lab):
    instance = lab.instance(lab.fleet(spot=True))
    assert instance["InstanceLifecycle"] == "spot"
    assert instance["SpotInstanceRequestId"].startswith("sir-")


def test_the_interfaces_of_the_template_count(lab):
    cards = [{"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa", "Groups": [lab.group]}]
    cards += [{"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only", "Groups": [lab.group]}]
    lab.template("efa", SecurityGroupIds=None, NetworkInterfaces=cards)
    instance = lab.instance(lab.fleet(template="efa"))
    assert [each["InterfaceType"] for each in instance["NetworkInterfaces"]] == ["efa", "efa-only"]
    assert [group["GroupId"] for group in instance["SecurityGroups"]] == [lab.group]


def test_a_shortage_in_one_zone_sends_the_launch_to_the_next(lab):
    lab.moto_additions.faults.no_capacity(ZONES[0])
    fleet = lab.fleet()
    assert lab.errors(fleet) == [("InsufficientInstanceCapacity", ZONES[0])]
    assert "We currently do not have sufficient g5.xlarge capacity" in fleet["Errors"][0]["ErrorMessage"]
    assert lab.instance(fleet)["Placement"]["AvailabilityZone"] == ZONES[1]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("no-capacity", "InsufficientInstanceCapacity"),
        ("vcpu-quota", "VcpuLimitExceeded"),
        ("no-addresses", "InsufficientFreeAddressesInSubnet"),
        ("launch-denied", "UnauthorizedOperation"),
    ],
)
def test_the_faults_of_a_node_group_fit_a_fleet(lab, fault, code):
    if fault == "vcpu-quota":
        lab.moto_additions.faults.quota(0)
    else:
        lab.moto_additions.switches.on(fault, POOL)
    fleet = lab.fleet()
    assert fleet["Instances"] == []
    assert lab.errors(fleet) == [(code, zone) for zone in ZONES]

    lab.moto_additions.faults.clear()
    lab.moto_additions.switches.off()
    assert lab.fleet()["Errors"] == []


def test_a_fault_of_another_pool_changes_nothing(lab):
    lab.moto_additions.switches.on("no-capacity", "lab-other")
    assert lab.fleet()["Errors"] == []


def test_the_full_spot_quota_has_a_code_of_its_own(lab):
    lab.moto_additions.faults.quota(0)
    assert {code for code, _ in lab.errors(lab.fleet(spot=True))} == {"MaxSpotInstanceCountExceeded"}


def test_a_fleet_of_three_takes_what_there_is(lab):
    lab.moto_additions.faults.few("g5.xlarge", 2)
    fleet = lab.fleet(count=3)
    assert [len(each["InstanceIds"]) for each in fleet["Instances"]] == [2]
    assert lab.errors(fleet) == [("InsufficientInstanceCapacity", zone) for zone in ZONES]


def test_an_unknown_instance_profile_is_an_error_of_the_fleet(lab):
    lab.template("other", IamInstanceProfile={"Name": "absent"})
    fleet = lab.fleet(template="other")
    assert fleet["Instances"] == []
    assert "iamInstanceProfile.name is invalid" in fleet["Errors"][0]["ErrorMessage"]


def test_an_unknown_launch_template_fails_the_call(lab):
    with pytest.raises(ClientError, match=r"InvalidLaunchTemplateName.NotFoundException"):
        lab.fleet(template="absent")


def test_a_dry_run_launches_nothing(lab):
    with pytest.raises(ClientError, match="DryRunOperation"):
        lab.fleet(DryRun=True)
    assert lab.aws.call("ec2", "describe_instances")["Reservations"] == []


def test_a_subnet_without_addresses_says_so_once_a_fleet_has_asked_for_it(lab):
    def available(zone):
        found = lab.aws.call("ec2", "describe_subnets", SubnetIds=[lab.subnets[zone]])["Subnets"]
        return found[0]["AvailableIpAddressCount"]

    lab.moto_additions.switches.on("no-addresses", POOL)
    lab.fleet(zones=ZONES[:1])
    assert available(ZONES[0]) == 0
    assert available(ZONES[1]) > 0
    lab.moto_additions.switches.off()
    assert available(ZONES[0]) > 0
