"""Capacity Blocks for ML that AWS offers, and their purchase."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.capacity.block_offering import BlockOffering

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

PURCHASE_SECONDS = 60
"""A purchase has no client token: a call that is cut off may have bought, so it is made once and waited for."""


@border
class CapacityBlocks:
    """What can be bought in a region."""

    def __init__(self, region: str, ec2: "EC2Client | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2", read_seconds=PURCHASE_SECONDS, attempts=1, region=region)

    def offerings(
        self, instance_type: str, nodes: int, hours: int, begins: datetime, ends: datetime
    ) -> list[BlockOffering]:
        """The blocks of this type, size and length that lie within [begins, ends].

        A block of several segments has nodes in several zones or at several times, so it is left out: the nodes of
        a pool are in one zone.
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
        return [_offering(each) for each in read if len(each.get("CapacityBlockOfferingSegments", ())) <= 1]

    def buy(self, offering: str, tags: Mapping[str, str]) -> str:
        """Buy one, and tag it. Returns the id of its reservation. After an error it may have been bought."""
        with outside("ec2:PurchaseCapacityBlock", offering):
            bought = self._ec2.purchase_capacity_block(
                CapacityBlockOfferingId=offering,
                InstancePlatform="Linux/UNIX",
                TagSpecifications=[
                    {
                        "ResourceType": "capacity-reservation",
                        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                    }
                ],
            )
        return bought["CapacityReservation"]["CapacityReservationId"]


def _offering(read: Mapping[str, Any]) -> BlockOffering:
    """Raises where the answer has another form, or a price that is none: nobody buys what is not known."""
    price = Decimal(read["UpfrontFee"])
    begins, ends = read["StartDate"].astimezone(UTC), read["EndDate"].astimezone(UTC)
    if not price.is_finite() or price < 0 or read["InstanceCount"] < 1 or ends <= begins:
        raise ValueError(f"offering {read['CapacityBlockOfferingId']} has no price or no hours")
    return checked(
        BlockOffering(
            id=read["CapacityBlockOfferingId"],
            instance_type=read["InstanceType"],
            zone=read["AvailabilityZone"],
            nodes=read["InstanceCount"],
            begins=begins,
            ends=ends,
            price=price,
            currency=read["CurrencyCode"],
        )
    )
