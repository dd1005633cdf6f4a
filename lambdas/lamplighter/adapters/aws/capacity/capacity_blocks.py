"""Capacity Blocks for ML that AWS offers, and their purchase."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.aws.capacity.reservations import in_utc
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.capacity.block_offering import BlockOffering
from lamplighter.errors import Refused
from lamplighter.lab.types import GREATEST_AMOUNT

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import TagTypeDef

PURCHASE_SECONDS = 60
"""A purchase has no client token: a call that is cut off may have bought, so it is made once and waited for."""

SERVER_FAULTS = 500
"""HTTP's first status after which nobody knows what was done."""
NOT_FOR_SALE = "InvalidCapacityBlockOffering"
"""How the codes begin for an offering that is gone, unknown or no id (EC2 API reference, error codes)."""


@border
class CapacityBlocks:
    """What can be bought in a region."""

    def __init__(self, region: str, ec2: "EC2Client | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2", read_seconds=PURCHASE_SECONDS, attempts=1, region=region)

    def offerings(
        self, instance_type: str, nodes: int, hours: int, begins: datetime, ends: datetime
    ) -> list[BlockOffering]:
        """The blocks of this type, size and length that lie within [begins, ends].

        AWS shows at most six. A block of several segments is left out: each has its own type, zone and hours, and a
        pool has one type in one zone.
        """
        pages = self._ec2.get_paginator("describe_capacity_block_offerings")
        with outside("ec2:DescribeCapacityBlockOfferings", instance_type):
            read: list[Mapping[str, Any]] = [
                each
                for page in pages.paginate(
                    InstanceType=instance_type,
                    InstanceCount=nodes,
                    CapacityDurationHours=hours,
                    StartDateRange=begins,
                    EndDateRange=ends,
                )
                for each in page["CapacityBlockOfferings"]
            ]
        return [_offering(each) for each in read if _is_simple(each)]

    def buy(self, offering: str, tags: Mapping[str, str]) -> str:
        """Buy one, and tag it. Returns the id of its reservation.

        Raises Refused where AWS does not sell it. After any other error it may have been bought: `may_have_sold`.
        """
        marks: list[TagTypeDef] = [{"Key": key, "Value": value} for key, value in tags.items()]
        with outside("ec2:PurchaseCapacityBlock", offering):
            try:
                bought = self._ec2.purchase_capacity_block(
                    CapacityBlockOfferingId=offering,
                    InstancePlatform="Linux/UNIX",
                    TagSpecifications=[{"ResourceType": "capacity-reservation", "Tags": marks}],
                )
            except self._ec2.exceptions.ClientError as error:
                if error_code(error).startswith(NOT_FOR_SALE):
                    raise Refused(f"nothing was bought: {error}") from error
                raise
        return bought["CapacityReservation"]["CapacityReservationId"]


def may_have_sold(error: BaseException) -> bool:
    """Whether a purchase that ended with this may have been made all the same: AWS did not refuse it."""
    response: dict[str, dict[str, int]] | None = getattr(error.__cause__, "response", None)
    status = (response or {}).get("ResponseMetadata", {}).get("HTTPStatusCode", SERVER_FAULTS)
    return status >= SERVER_FAULTS


def _is_simple(read: Mapping[str, Any]) -> bool:
    return len(read.get("CapacityBlockOfferingSegments") or ()) <= 1 and read.get("Tenancy") != "dedicated"


def _offering(read: Mapping[str, Any]) -> BlockOffering:
    """Raises where the answer has another form, or a price that is none: nobody buys what is not known."""
    price = Decimal(read["UpfrontFee"])
    begins, ends = in_utc(read["StartDate"]), in_utc(read["EndDate"])
    if not price.is_finite() or not 0 <= price <= GREATEST_AMOUNT:
        raise ValueError(f"{str(price)[:80]} is no price")
    if not read["CapacityBlockOfferingId"] or read["InstanceCount"] < 1 or ends <= begins:
        raise ValueError("an offering without an id, nodes or hours")
    return checked(
        BlockOffering(
            id=read["CapacityBlockOfferingId"],
            instance_type=read["InstanceType"],
            zone=read["AvailabilityZone"],
            nodes=read["InstanceCount"],
            begins=begins,
            ends=ends,
            price=price or Decimal(0),
            currency=read["CurrencyCode"],
        )
    )
