"""A refused launch has the same cause while its lease waits for nodes and in a diagnosis afterwards."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity.evidence import HealthIssue
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.domain.capacity.node_group.shortage import explain
from lamplighter.domain.capacity.shortage import Shortage
from tests.diagnosis_cases import one_missing
from tests.snapshots import causes, refused_launch, told

ORDERED = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            (
                "Your requested instance type (g5.xlarge) is not supported in your requested Availability "
                "Zone (ap-northeast-2d). Please retry your request by not specifying an Availability Zone."
            ),
            "wrong-instance-type",
        ),
        # A fleet over two zones, of which one may have capacity later.
        (
            (
                "Unsupported - Your requested instance type (g5.xlarge) is not supported in your requested "
                "Availability Zone (ap-northeast-2d). InsufficientInstanceCapacity - We currently do not have "
                "sufficient g5.xlarge capacity in the Availability Zone you requested (ap-northeast-2a)."
            ),
            "no-capacity",
        ),
        ("UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration.", "no-capacity"),
        ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
        ("Client.InternalError: Client error on launch.", "launch-denied"),
        ("Invalid IAM Instance Profile name. Launching EC2 instance failed.", "launch-denied"),
        ("There are insufficient free addresses in subnet subnet-1 to launch.", "no-addresses"),
        # EC2 Auto Scaling user guide, troubleshooting launch failures.
        ("There is no Spot capacity available that matches your request.", "no-capacity"),
        ("Max spot instance count exceeded. Launching EC2 instance failed.", "vcpu-quota"),
        ("4 instance(s) are already running. Launching EC2 instance failed.", "vcpu-quota"),
        ("You have requested more instances (3) than your current instance limit of 2 allows.", "vcpu-quota"),
        ("InstanceLimitExceeded - Your quota allows for 0 more running instance(s).", "vcpu-quota"),
        ("Client.InvalidKMSKey.InvalidState: The KMS key provided is in an incorrect state", "launch-denied"),
    ],
)  # fmt: skip
def test_a_text_of_aws_means_the_same_to_a_waiting_lease_and_to_a_diagnosis(said: str, cause: str) -> None:
    assert judged(said) == (cause, [cause])
    assert judged_as_health(said) == (cause, [cause])


@pytest.mark.parametrize(
    "said",
    [
        # A bare word of a refusal in a name that somebody gave is no refusal.
        "The launch template 'gpu-kms-volumes' does not exist.",
        "The image id '[ami-0kms]' of team KMS does not exist.",
        "The key pair 'ice-lab' does not exist. Launching EC2 instance failed.",
        # Refusals that no cause is a name of: they are quoted.
        "You've reached your quota for maximum Fleet Requests for this account.",
        "Your Capacity Block reservation cr-1 is not active yet.",
        "The security group 'sg-1' does not exist in VPC 'vpc-1'.",
    ],
)
def test_a_text_that_names_no_cause_is_quoted_wherever_aws_says_it(said: str) -> None:
    assert judged(said) == judged_as_health(said) == ("unknown", ["unknown"])
    document = one_missing()
    document["aws"]["nodegroup"]["health"]["issues"] = [issue(said)]
    [(_, _, evidence)] = told(document)
    assert said in evidence[0]


def test_of_several_health_issues_the_one_that_names_a_cause_is_told_to_a_waiting_lease() -> None:
    odd = HealthIssue("InternalFailure", "Something went wrong.")
    short = waiting_lease(health=(odd, HealthIssue("AsgInstanceLaunchFailures", "VcpuLimitExceeded")))
    assert short.cause == "vcpu-quota"


def test_a_code_of_health_speaks_where_its_message_names_nothing() -> None:
    missing = "We couldn't find your EC2 Instance Profile."
    assert (
        waiting_lease(health=(HealthIssue("IamInstanceProfileNotFound", missing),)).cause == "launch-denied"
    )
    refused = "Your worker nodes do not have access to the cluster."
    assert waiting_lease(health=(HealthIssue("AccessDenied", refused),)).cause == "unknown"


def issue(said: str) -> dict[str, object]:
    return {"code": "AsgInstanceLaunchFailures", "message": said, "resourceIds": ["eks-gpu"]}


def judged(said: str) -> tuple[str, list[str]]:
    document = one_missing()
    document["aws"]["scaling_activities"] = [refused_launch(said)]
    at = ORDERED + timedelta(minutes=1)
    activity = ScalingActivity("a", "Failed", "Launching a new EC2 instance.", said, at, at)
    return waiting_lease(activities=(activity,)).cause, causes(document)


def judged_as_health(said: str) -> tuple[str, list[str]]:
    document = one_missing()
    document["aws"]["nodegroup"]["health"]["issues"] = [issue(said)]
    health = (HealthIssue("AsgInstanceLaunchFailures", said),)
    return waiting_lease(health=health).cause, causes(document)


def waiting_lease(
    *, activities: tuple[ScalingActivity, ...] = (), health: tuple[HealthIssue, ...] = ()
) -> Shortage:
    """What is said of a lease that lacks one of two nodes."""
    short = explain(
        wanted=2,
        have=1,
        desired=2,
        health=health,
        activities=activities,
        update=None,
        ordered=ORDERED,
        now=ORDERED + timedelta(minutes=4),
    )
    assert short is not None
    return short
