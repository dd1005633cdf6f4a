"""EC2's history of Spot prices: every change of the price of a type in a zone.

EC2 keeps 90 days, and lists the last change before the time that is asked for as well
(https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSpotPriceHistory.html).
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.money.spot import Rate, Rates
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

PRODUCT = "Linux/UNIX"
MOST, MOST_PAGES = 10_000, 100
"""Changes and pages of one answer. EC2 changes a price a few times a day."""
LONGEST, DEAREST = 20, Decimal(10_000)
"""Characters of a price, and USD for an hour."""
_PRICE = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


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
            for number, page in enumerate(pages, 1):
                rates += [
                    checked(
                        Rate(
                            change["Timestamp"].astimezone(UTC), _price(change.get("SpotPrice", ""), subject)
                        )
                    )
                    for change in page["SpotPriceHistory"]
                    if (change.get("InstanceType"), change.get("AvailabilityZone")) == (instance_type, zone)
                ]
                if len(rates) > MOST or number > MOST_PAGES:
                    raise OutsideFailed(reason("money.spot.odd", subject=subject, price=f"{MOST} changes"))
        return _in_order(rates)


def _price(text: str, subject: str) -> Decimal:
    if len(text) > LONGEST or _PRICE.fullmatch(text) is None or Decimal(text) > DEAREST:
        raise OutsideFailed(reason("money.spot.odd", subject=subject, price=text[:LONGEST]))
    return Decimal(text)


def _in_order(rates: Iterable[Rate]) -> Rates:
    return tuple(sorted(rates, key=lambda rate: rate.since))
