"""Faults as EC2, Auto Scaling, EKS and Service Quotas show them: by the name of a cause, and of an instance type."""

import pytest
from botocore.exceptions import ClientError

from tests.local.aws.eks_lab import Lab, Machines


@pytest.fixture
def lab(aws):
    return Lab(aws).ready()


@pytest.fixture
def faults(lab):
    return lab.moto_additions.switches


def refused(lab):
    lab.scale(1)
    lab.until(lambda: lab.nodegroup()["status"] == "DEGRADED")
    return lab.activities()[0], lab.nodegroup()["health"]["issues"][0]


@pytest.mark.parametrize(
    ("fault", "said", "code"),
    [
        (
            "no-capacity",
            "We currently do not have sufficient g5.xlarge capacity",
            "AsgInstanceLaunchFailures",
        ),
        ("vcpu-quota", "VcpuLimitExceeded - You have requested more vCPU", "AsgInstanceLaunchFailures"),
        ("launch-denied", "You are not authorized to perform this operation", "AsgInstanceLaunchFailures"),
        ("no-addresses", "There are not enough free addresses in subnet", "InsufficientFreeAddresses"),
    ],
)
def test_a_launch_is_refused_in_awss_words_until_the_fault_is_off(lab, faults, fault, said, code):
    faults.on(fault)
    activity, issue = refused(lab)
    assert activity["StatusCode"] == "Failed"
    assert said in activity["StatusMessage"]
    assert issue["code"] == code
    assert said in issue["message"]

    faults.off(fault)
    lab.until(lambda: lab.members() and lab.nodegroup()["status"] == "ACTIVE", 400)
    assert lab.nodegroup()["health"]["issues"] == []


def test_a_fault_of_another_pool_changes_nothing(lab, faults):
    for fault in ("no-capacity", "launch-denied", "no-addresses"):
        faults.on(fault, "lab-ng-other")
    lab.opened(1)
    assert len(lab.instances("running")) == 1


def test_the_quota_holds_what_runs_and_service_quotas_says_so(lab, faults):
    def quota():
        found = lab.aws.call("service-quotas", "get_service_quota", ServiceCode="ec2", QuotaCode="L-DB2E81BA")
        return found["Quota"]["Value"]

    lab.opened(1)
    faults.on("vcpu-quota")
    assert quota() == 4
    lab.scale(2)
    lab.until(lambda: lab.nodegroup()["status"] == "DEGRADED")
    assert "current vCPU limit of 4" in lab.activities()[0]["StatusMessage"]
    faults.off("vcpu-quota")
    assert quota() == 64


def test_a_subnet_without_addresses_says_so(lab, faults):
    def available(subnet):
        found = lab.aws.call("ec2", "describe_subnets", SubnetIds=[subnet])["Subnets"]
        return found[0]["AvailableIpAddressCount"]

    faults.on("no-addresses", "lab-ng-gpu")
    assert available(lab.subnets[0]) == 0
    assert available(lab.subnets[1]) > 0
    faults.off()
    assert available(lab.subnets[0]) > 0


class Unjoined(Machines):
    """Machines that never become nodes, until told."""

    def __init__(self):
        self.images, self.may_join = [], False

    def machine_started(self, machine):
        self.images.append(machine.ami_type)

    def joined(self, instance_id):
        return bool(instance_id) and self.may_join


def test_eks_says_which_instances_did_not_become_nodes_until_they_do(lab):
    machines = Unjoined()
    lab.moto_additions.fleet(machines)
    lab.opened(2)
    lab.until(
        lambda: len((lab.nodegroup()["health"]["issues"] or [{"resourceIds": []}])[0]["resourceIds"]) == 2
    )
    (issue,) = lab.nodegroup()["health"]["issues"]
    assert issue["code"] == "NodeCreationFailure"
    assert set(issue["resourceIds"]) == set(lab.members())
    assert lab.nodegroup()["status"] == "DEGRADED"

    machines.may_join = True
    lab.until(lambda: not lab.nodegroup()["health"]["issues"], 200)
    assert lab.nodegroup()["status"] == "ACTIVE"


def test_a_group_made_with_the_wrong_image_starts_machines_from_it(lab, faults):
    machines = Unjoined()
    lab.moto_additions.fleet(machines)
    faults.on("wrong-ami", "lab-ng-gpu")
    assert lab.nodegroup()["amiType"] == "AL2023_x86_64_STANDARD"
    lab.opened(1)
    faults.off()
    assert lab.nodegroup()["amiType"] == "AL2023_x86_64_STANDARD"

    lab.scale(0)
    lab.until(lambda: not lab.group()["Instances"])
    assert lab.nodegroup()["amiType"] == "AL2023_x86_64_NVIDIA"
    lab.opened(1)
    assert machines.images == ["AL2023_x86_64_STANDARD", "AL2023_x86_64_NVIDIA"]


def test_no_capacity_degrades_until_a_scale_out_succeeds(lab):
    lab.moto_additions.faults.no_capacity("g5.xlarge")
    lab.scale(1)
    lab.until(lambda: lab.nodegroup()["status"] == "DEGRADED")
    issue = lab.nodegroup()["health"]["issues"][0]
    assert issue["code"] == "AsgInstanceLaunchFailures"
    assert "We currently do not have sufficient g5.xlarge capacity" in issue["message"]
    failed = lab.activities()[0]
    assert (failed["StatusCode"], failed["Progress"]) == ("Failed", 100)
    assert "sufficient g5.xlarge capacity in the Availability Zone you requested" in failed["StatusMessage"]
    lab.until(lambda: len(lab.activities()) >= 3)
    lab.scale(0)
    lab.clock.sleep(600)
    assert lab.nodegroup()["status"] == "DEGRADED"
    lab.moto_additions.faults.clear()
    lab.opened(1)
    assert lab.nodegroup()["status"] == "ACTIVE"
    assert lab.nodegroup()["health"]["issues"] == []


def test_slow_boot(lab):
    lab.moto_additions.faults.slow_boot(20)
    begun = lab.clock.time()
    lab.opened(1)
    assert lab.clock.time() - begun > 300


def test_a_stuck_termination_leaves_the_instance_shutting_down(lab):
    lab.opened(1)
    lab.moto_additions.faults.stuck_termination()
    lab.scale(0)
    lab.until(lambda: bool(lab.instances("shutting-down")))
    lab.clock.sleep(1800)
    assert lab.instances("shutting-down")
    lab.moto_additions.faults.clear()
    lab.until(lambda: bool(lab.instances("terminated")))


def test_eks_may_take_a_failed_scale_up_back(lab):
    lab.moto_additions.faults.no_capacity("g5.xlarge")
    lab.moto_additions.faults.revert_scale_up()
    update = lab.scale(2)
    lab.until(lambda: lab.update(update["id"])["status"] == "Failed")
    assert lab.update(update["id"])["errors"][0]["errorCode"] == "NodeCreationFailure"
    assert lab.nodegroup()["scalingConfig"]["desiredSize"] == 0
    assert lab.group()["DesiredCapacity"] == 0


def test_capacity_for_a_few(lab):
    lab.moto_additions.faults.few("g5.xlarge", 1)
    lab.scale(2)
    lab.until(lambda: bool(lab.nodegroup()["health"]["issues"]))
    assert len(lab.instances()) == 1
    lab.moto_additions.faults.clear("g5.xlarge")
    lab.until(lambda: len(lab.instances("running")) == 2, 400)


def test_an_update_that_does_not_end_keeps_others_out(lab):
    lab.moto_additions.faults.endless_updates("lab-ng-gpu")
    update = lab.scale(1)
    lab.clock.sleep(600)
    assert lab.update(update["id"])["status"] == "InProgress"
    with pytest.raises(ClientError, match="not in Active State"):
        lab.scale(0)
    lab.moto_additions.faults.clear()
    lab.until(lambda: lab.update(update["id"])["status"] == "Successful")
