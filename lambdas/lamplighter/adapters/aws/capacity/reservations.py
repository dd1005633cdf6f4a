"""Capacity reservations of the account as EC2 describes them: On-Demand ones, for now or for a date, and blocks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.capacity.reservation import Reservation, ReservationType

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

UNKNOWN = frozenset({"InvalidCapacityReservationId.NotFound", "InvalidCapacityReservationId.Malformed"})
TYPES = {"default": ReservationType.ON_DEMAND, "capacity-block": ReservationType.BLOCK}
ORDERED = "aws:ec2capacityreservation:incrementalRequestedQuantity"
"""The tag that has the number of instances of a block that has not begun."""
MOST = 100_000
"""Instances that one reservation may plausibly have; EC2 takes 1,000 in a request."""
YEARS = range(2000, 2200)
"""Of its begin and its end: every zone has a time for them."""


@border
class Reservations:
    """The capacity reservations of the account and region."""

    def __init__(self, ec2: "EC2Client | None" = None) -> None:
        self._given = ec2

    @cached_property
    def _ec2(self) -> "EC2Client":
        made: EC2Client = self._given or client("ec2")
        return made

    def read(self, reservation: str) -> Reservation | None:
        """The reservation; None where EC2 does not know it."""
        with outside("ec2:DescribeCapacityReservations", reservation):
            try:
                described = self._ec2.describe_capacity_reservations(CapacityReservationIds=[reservation])
            except self._ec2.exceptions.ClientError as error:
                if error_code(error) in UNKNOWN:
                    return None
                raise
        # EC2 names what it does not know by an error. Without it, an answer about nothing or another one is no answer.
        (found,) = described["CapacityReservations"]
        if found["CapacityReservationId"] != reservation:
            raise ValueError("EC2 answered about another reservation")
        return _reservation(found)

    def tagged(self, tags: Mapping[str, str]) -> list[Reservation]:
        """Those that have all these tags, over or not. EC2 documents no filter by tag here, so all are read."""
        with outside("ec2:DescribeCapacityReservations", " ".join(tags.values())):
            pages = self._ec2.get_paginator("describe_capacity_reservations").paginate()
            found = [each for page in pages for each in page["CapacityReservations"]]
        return [_reservation(each) for each in found if tags.items() <= _tags(each).items()]

    def unavailable(self, block: str) -> int | None:
        """How many instances of a Capacity Block cannot be started now; None where EC2 does not say."""
        with outside("ec2:DescribeCapacityBlockStatus", block):
            pages = self._ec2.get_paginator("describe_capacity_block_status").paginate()
            blocks = [one for page in pages for one in page["CapacityBlockStatuses"]]
        # EC2 selects blocks by the block's own id alone, and lists the reservations of each.
        found = [one for each in blocks for one in each.get("CapacityReservationStatuses", [])]
        counts = [
            _count(one["TotalUnavailableCapacity"]) for one in found if one["CapacityReservationId"] == block
        ]
        return sum(counts) if counts else None


def _reservation(found: Mapping[str, Any]) -> Reservation:
    """Raises where the answer has another form: then nothing is known of it."""
    type_ = TYPES[found.get("ReservationType", "default")]
    ends = found["EndDate"] if found.get("EndDateType") == "limited" else None
    if type_ is ReservationType.BLOCK and ends is None:
        raise ValueError("a Capacity Block without an end")
    return checked(
        Reservation(
            id=found["CapacityReservationId"],
            type=type_,
            state=found["State"],
            instance_type=found["InstanceType"],
            zone=found["AvailabilityZone"],
            count=_total(found, type_),
            targeted=type_ is ReservationType.BLOCK or found.get("InstanceMatchCriteria") == "targeted",
            begins=in_utc(found.get("StartDate") or found["CreateDate"]),
            ends=None if ends is None else in_utc(ends),
        )
    )


def _total(found: Mapping[str, Any], type_: ReservationType) -> int:
    """How many instances it has, or will have: EC2 shows 0 for a block that has not begun, and the number in a tag
    (EC2 user guide, capacity-blocks-view)."""
    total = _count(found["TotalInstanceCount"])
    ordered = _tags(found).get(ORDERED, "")
    if type_ is ReservationType.BLOCK and not total and ordered.isdecimal() and ordered.isascii():
        return _count(int(ordered[:9]))
    return total


def _tags(found: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise ValueError(f"{str(value)[:80]} is no number of instances")
    return value


def in_utc(at: datetime) -> datetime:
    """An instant of EC2's. Raises ValueError where it is none that every zone has a time for."""
    if at.year not in YEARS:
        raise ValueError(f"year {at.year}")
    return at.astimezone(UTC)
