"""Launches that AWS refuses for reasons outside the lab: a zone without capacity, an account that is held back."""

import pytest

from lamplighter.domain.capacity.launch_cause import LaunchCause, LaunchRefusal
from lamplighter.domain.capacity.shortage import of_refusal
from lamplighter.reasons.reason import reason
from tests.diagnosis_cases import one_missing
from tests.snapshots import NODES, POOL, Document, activity, event, judge, without_plugin
from tests.unit.diagnosis.table import given

SHORT = (
    "We currently do not have sufficient g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a)."
    " Our system will be working on provisioning additional capacity."
)
ELSEWHERE = (
    f"{SHORT} You can currently get g5.xlarge capacity by not specifying an Availability Zone in your request or"
    " choosing ap-northeast-2b, ap-northeast-2c. Launching EC2 instance failed."
)
OFFERED = "AWS says that it has the capacity now in ap-northeast-2b and ap-northeast-2c"


def refused(message: str) -> Document:
    return given(one_missing(), scaling_activities=[activity(message, "Failed", 2)])


def test_zones_that_have_the_capacity_are_said_where_aws_names_them() -> None:
    [found] = judge(refused(ELSEWHERE)).findings
    assert (found.cause.name, str(found.evidence[1])) == ("no-capacity", OFFERED)
    assert found.to_json()["available"] == {
        "zones": ["ap-northeast-2b", "ap-northeast-2c"],
        "instance_types": ["g5.xlarge"],
    }
    [found] = judge(refused(SHORT)).findings
    assert len(found.evidence) == 1
    assert "available" not in found.to_json()

    told = of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, ELSEWHERE))
    assert str(told) == (
        "AWS has no g5.xlarge capacity left in ap-northeast-2a; AWS has it now in ap-northeast-2b and ap-northeast-2c"
    )
    assert of_refusal(LaunchRefusal(LaunchCause.NO_CAPACITY, SHORT)).code == "pool.short.no-capacity.of-type"


@pytest.mark.parametrize(("message", "advice"), [
    ("The specified instance type is not eligible for Free Tier.", "free-plan."),
    ("PendingVerification: Your account is currently being verified.", "verification."),
    ("Your request for accessing resources in this region is being validated, and you will not", "verification."),
    ("This account is currently blocked and not recognized as a valid account.", "blocked."),
    ("OptInRequired: You are not subscribed to this service.", "blocked."),
    ("The provided credentials do not have permission to create the service-linked role for EC2 S", "service-role."),
    ("AuthFailure.ServiceLinkedRoleCreationNotPermitted: no", "service-role."),
    ("The default Service-Linked Role for Auto Scaling could not be created. AccessDenied: x", "service-role."),
    ("User: arn:aws:iam::1:role/k is not authorized to perform: iam:CreateServiceLinkedRole", "service-role."),
    ("assumed-role/AWSServiceRoleForAutoScaling/AutoScaling is not authorized to perform: ec2:RunInstances", ""),
    ("The KMS key provided is not accessible to the service-linked role", ""),
    ("UnauthorizedOperation: denied", ""),
])  # fmt: skip
def test_an_account_that_is_held_back_has_its_own_advice(message: str, advice: str) -> None:
    [found] = judge(refused(message)).findings
    assert (found.cause.name, found.advice) == (
        "launch-denied",
        reason(f"finding.launch-denied.{advice}advice"),
    )


def test_a_quota_of_volumes_is_neither_of_vcpus_nor_a_permission_and_has_its_advice() -> None:
    [found] = judge(refused("Client.VolumeLimitExceeded: Volume limit exceeded")).findings
    assert (found.cause.name, found.advice) == ("unknown", reason("finding.unknown.ebs-quota.advice"))
    [found] = judge(refused("Client.Odd: odd")).findings
    assert found.advice == reason("finding.unknown.advice")


FORBIDDEN = (
    'Error creating: pods "nvidia-device-plugin-" is forbidden: violates PodSecurity "baseline:latest"'
)


@pytest.mark.parametrize(("last", "said"), [("FailedCreate", 1), ("SuccessfulCreate", 0)])
def test_a_plugin_that_kubernetes_refuses_to_create_is_told_with_its_words(last: str, said: int) -> None:
    document = given(without_plugin(), daemonsets=[
        {"metadata": {"name": "nvidia-device-plugin-daemonset", "namespace": "gpu-operator"},
         "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
         "status": {"desiredNumberScheduled": 2}}],
        more={"events": [event("DaemonSet", "nvidia-device-plugin-daemonset", last, FORBIDDEN)]})  # fmt: skip
    found = next(each for each in judge(document).findings if each.cause.name == "device-plugin-missing")
    assert sum("does not create the pods" in str(line) for line in found.evidence) == said
    assert NODES[0] in found.objects
    assert POOL not in found.objects
