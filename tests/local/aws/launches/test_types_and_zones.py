"""A node group with several instance types and zones: what starts first, what stands in, and who moves nodes later."""

import pytest

from tests.local.aws.eks_lab import Lab

TYPES = ["g6.xlarge", "g5.xlarge"]
A, B, C = (f"ap-northeast-2{zone}" for zone in "abc")


@pytest.fixture
def lab(aws):
    return Lab(aws)


def made(lab, zones=1):
    """The group, up, with a template that names no type."""
    data = {"MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}}
    found = lab.aws.call("ec2", "create_launch_template", LaunchTemplateName="any", LaunchTemplateData=data)
    template = {"id": found["LaunchTemplate"]["LaunchTemplateId"], "version": "1"}
    sizes = {"minSize": 0, "maxSize": 3, "desiredSize": 0}
    return lab.ready(
        instanceTypes=TYPES, launchTemplate=template, subnets=lab.subnets[:zones], scalingConfig=sizes
    )


def started(lab):
    return sorted(
        (each["InstanceType"], each["Placement"]["AvailabilityZone"]) for each in lab.instances("running")
    )


def test_the_first_type_starts_and_each_next_one_where_ec2_has_none_left(lab):
    made(lab)
    lab.moto_additions.faults.few("g6.xlarge", 1)

    lab.opened(2)

    assert started(lab) == [("g5.xlarge", A), ("g6.xlarge", A)]
    assert lab.nodegroup()["instanceTypes"] == TYPES
    assert {member["InstanceType"] for member in lab.group()["Instances"]} == set(TYPES)
    policy = lab.group()["MixedInstancesPolicy"]
    assert [each["InstanceType"] for each in policy["LaunchTemplate"]["Overrides"]] == TYPES
    assert policy["InstancesDistribution"]["OnDemandAllocationStrategy"] == "prioritized"
    assert "LaunchTemplate" not in lab.group()


def test_a_type_may_be_short_in_one_zone_alone_and_ec2_names_the_others(lab):
    made(lab)
    for kind in TYPES:
        lab.moto_additions.faults.no_capacity(f"{kind} in {A}")

    lab.scale(1)

    lab.until(lambda: lab.nodegroup()["status"] == "DEGRADED")
    refusal = lab.activities()[0]["StatusMessage"]
    assert f"sufficient g6.xlarge capacity in the Availability Zone you requested ({A})" in refusal
    lab.moto_additions.faults.clear(f"g5.xlarge in {A}")
    lab.until(lambda: started(lab) == [("g5.xlarge", A)])


def test_a_type_that_is_short_everywhere_is_replaced_by_the_next_and_no_zone_is_named(lab):
    made(lab, zones=2)
    lab.moto_additions.faults.no_capacity("g6.xlarge")

    lab.opened(2)

    assert started(lab) == [("g5.xlarge", A), ("g5.xlarge", B)]
    lab.moto_additions.faults.no_capacity("g5.xlarge")
    lab.scale(3)
    lab.until(lambda: lab.activities()[0]["StatusCode"] == "Failed")
    assert "or choosing" not in lab.activities()[0]["StatusMessage"]


@pytest.mark.parametrize("suspended", [False, True])
def test_a_zone_that_has_capacity_again_takes_a_node_unless_rebalancing_is_suspended(lab, suspended):
    made(lab, zones=2)
    lab.moto_additions.faults.no_capacity(A)
    lab.opened(2)
    assert {zone for _, zone in started(lab)} == {B}
    first = set(lab.members())
    if suspended:
        group = lab.group()["AutoScalingGroupName"]
        lab.aws.call(
            "autoscaling", "suspend_processes", AutoScalingGroupName=group, ScalingProcesses=["AZRebalance"]
        )

    lab.clock.sleep(1800)
    assert set(lab.members()) == first, "the zone has no capacity yet"
    lab.moto_additions.faults.clear(A)
    lab.clock.sleep(1800)

    assert {zone for _, zone in started(lab)} == ({B} if suspended else {A, B})
    assert (set(lab.members()) == first) is suspended
    assert lab.group()["DesiredCapacity"] == 2
    balanced = [
        each["Cause"] for each in lab.activities() if "to balance instances in zones" in each["Cause"]
    ]
    assert bool(balanced) is not suspended
