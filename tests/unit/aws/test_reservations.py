"""What EC2 answers about a reservation is that reservation, or it is not known: a lease's hours hang on it."""

from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.capacity.instances import TAKEN, Instances
from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.errors import OutsideFailed

NAMED = "cr-0123456789abcdef0"
FOUND: dict[str, Any] = {
    "CapacityReservationId": NAMED,
    "State": "active",
    "InstanceType": "g5.xlarge",
    "AvailabilityZone": "ap-northeast-2a",
    "TotalInstanceCount": 2,
    "InstanceMatchCriteria": "targeted",
    "EndDateType": "unlimited",
    "CreateDate": datetime(2026, 11, 1, tzinfo=UTC),
}


class Ec2:
    """EC2 that answers one thing."""

    exceptions = boto3.client("ec2", region_name="eu-west-1").exceptions

    def __init__(self, answer: list[dict[str, Any]]) -> None:
        self._answer = answer

    def describe_capacity_reservations(self, **_: object) -> dict[str, Any]:
        return {"CapacityReservations": self._answer}


def read(*answer: dict[str, Any]) -> object:
    ec2: Any = Ec2(list(answer))
    return Reservations(ec2).read(NAMED)


def test_the_reservation_is_read() -> None:
    assert read(FOUND) is not None


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [FOUND, FOUND],
        [{**FOUND, "CapacityReservationId": "cr-fedcba98765432100"}],
        [{**FOUND, "TotalInstanceCount": 10**18}],
        [{**FOUND, "EndDateType": "limited"}],
        [{**FOUND, "EndDateType": "limited", "EndDate": datetime(9999, 12, 31, tzinfo=UTC)}],
        [{**FOUND, "CreateDate": datetime(1, 1, 1, tzinfo=UTC)}],
    ],
)
def test_an_odd_answer_does_not_mean_that_the_reservation_is_gone(answer: list[dict[str, Any]]) -> None:
    with pytest.raises(OutsideFailed):
        read(*answer)


def test_a_spot_request_without_a_status_hides_no_other() -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    requests = [
        {"InstanceId": "i-1"},
        {"InstanceId": "i-1", "Status": {"Code": TAKEN[0]}},
        {"InstanceId": "i-2", "Status": {"Code": TAKEN[0], "UpdateTime": at}},
    ]
    ec2 = boto3.client("ec2", region_name="eu-west-1")
    with Stubber(ec2) as stub:
        stub.add_response("describe_spot_instance_requests", {"SpotInstanceRequests": requests})
        found = Instances(ec2).taken(["i-1", "i-2"], "gpu")

    assert [(one.claim, one.at) for one in found] == [("i-2", at)]
