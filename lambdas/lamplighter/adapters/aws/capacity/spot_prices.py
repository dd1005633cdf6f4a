"""EC2's history of Spot prices: every change of the price of a type in a zone.

EC2 keeps 90 days, and lists the last change before the time that is asked for as well
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html).
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.money.spot import Rate, Rates
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

PRODUCT = "Linux/UNIX"
MOST = 10_000
"""Changes in one answer. EC2 changes a price a few times a day."""
LONGEST, DEAREST = 20, Decimal(10_000)
"""Characters of a price, and USD for an hour."""


@border
class SpotPrices:
    """The Spot prices of the region."""

    def __init__(self, ec2: "EC2Client | None" = None) -> None:
        self._given = ec2

    def of(self, instance_type: str, zone: str, since: datetime, until: datetime) -> Rates:
        """The price at `since` and every change until `until`, oldest first; OutsideFailed for an odd answer."""
        ec2: EC2Client = self._given or client("ec2")
        subject = f"{instance_type} in {zone}"
        rates: list[Rate] = []
        with outside("ec2:DescribeSpotPriceHistory", subject):
            pages = ec2.get_paginator("describe_spot_price_history").paginate(
                InstanceTypes=[instance_type],  # type: ignore[list-item]
                AvailabilityZone=zone,
                ProductDescriptions=[PRODUCT],
                StartTime=since,
                EndTime=until,
            )
            for page in pages:
                rates += [
                    Rate(change["Timestamp"], _price(change.get("SpotPrice", ""), subject))
                    for change in page["SpotPriceHistory"]
                    if (change.get("InstanceType"), change.get("AvailabilityZone")) == (instance_type, zone)
                ]
                if len(rates) > MOST:
                    raise OutsideFailed(reason("money.spot.odd", subject=subject, price=f"{MOST} changes"))
        return _in_order(rates)


def _price(text: str, subject: str) -> Decimal:
    price = Decimal(-1)
    if len(text) <= LONGEST:
        with suppress(InvalidOperation):
            price = Decimal(text)
    if not price.is_finite() or not 0 <= price <= DEAREST:
        raise OutsideFailed(reason("money.spot.odd", subject=subject, price=text[:LONGEST]))
    return price


def _in_order(rates: Iterable[Rate]) -> Rates:
    return tuple(sorted(rates, key=lambda rate: rate.since))
