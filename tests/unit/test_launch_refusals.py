"""A refused launch has the same cause while its lease waits for nodes and in a diagnosis afterwards."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity import Activity, NodeGroup
from lamplighter.domain.shortage import explain
from tests.diagnosis_cases import one_missing
from tests.snapshots import causes, refused_launch

ORDERED = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            (
                "Your requested instance type (g5.xlarge) is not supported in your requested Availability "
                "Zone (ap-northeast-2d). Please retry your request by not specifying an Availability Zone."
            ),
            "no-capacity",
        ),
        (
            "UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration.",
            "no-capacity",
        ),
        ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", "vcpu-quota"),
        ("Client.InternalError: Client error on launch.", "launch-denied"),
        ("Invalid IAM Instance Profile name. Launching EC2 instance failed.", "launch-denied"),
        ("There are insufficient free addresses in subnet subnet-1 to launch.", "no-addresses"),
    ],
)
def test_a_text_of_aws_means_the_same_to_a_waiting_lease_and_to_a_diagnosis(said: str, cause: str) -> None:
    at = ORDERED + timedelta(minutes=1)
    short = explain(
        wanted=2,
        have=1,
        nodegroup=NodeGroup("lab", "gpu", "ACTIVE", 0, 2, 2, "eks-gpu", ()),
        activities=(Activity("a", "Failed", "Launching a new EC2 instance.", said, at, at),),
        update=None,
        ordered=ORDERED,
        now=ORDERED + timedelta(minutes=2),
    )
    assert short is not None
    document = one_missing()
    document["aws"]["scaling_activities"] = [refused_launch(said)]
    assert (short.cause, causes(document)) == (cause, [cause])
