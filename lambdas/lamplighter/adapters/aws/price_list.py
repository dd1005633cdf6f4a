"""AWS's price list: the hourly price of an on-demand Linux instance in a region, and EKS Auto Mode's fee, in USD.

The API has endpoints in few regions and prices of all of them; we ask the one in us-east-1.
"""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_pricing import PricingClient
    from mypy_boto3_pricing.type_defs import FilterTypeDef

REGION = "us-east-1"
CURRENCY = "USD"
#: How EC2 and EKS write the unit of an hour.
HOURLY = frozenset({"Hrs", "Hours", "hours"})
#: The attributes of the product that a pool's nodes are, unlike dedicated, licensed and reserved ones.
ORDINARY = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}


@border
class PriceList:
    """The price list of the account's partition."""

    def __init__(self, pricing: "PricingClient | None" = None) -> None:
        self._given = pricing

    @property
    def _pricing(self) -> "PricingClient":
        if self._given is None:
            self._given = client("pricing", region=REGION)
        return self._given

    def on_demand(self, region: str, instance_type: str) -> Decimal | None:
        """USD for an hour: the highest price if several products match; None if the list has none."""
        wanted = {"regionCode": region, "instanceType": instance_type, **ORDINARY}
        matches: list[FilterTypeDef] = [
            {"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()
        ]
        return self._highest("AmazonEC2", matches, f"{instance_type} in {region}")

    def auto_mode_fee(self, region: str, instance_type: str) -> Decimal | None:
        """What EKS Auto Mode adds, in USD for an hour; None if the list has no fee of the type.

        The usage type begins with a code of the region, such as APN2.
        """
        usage = f"EKS-Auto:{instance_type}-management-hours"
        matches: list[FilterTypeDef] = [
            {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
            {"Type": "CONTAINS", "Field": "usagetype", "Value": usage},
        ]
        return self._highest("AmazonEKS", matches, f"{usage} in {region}")

    def _highest(self, service: str, matches: "list[FilterTypeDef]", subject: str) -> Decimal | None:
        with outside("pricing:GetProducts", subject):
            pages = self._pricing.get_paginator("get_products").paginate(
                ServiceCode=service,
                Filters=matches,
                FormatVersion="aws_v1",
                PaginationConfig={"PageSize": 100},
            )
            products = [product for page in pages for product in page["PriceList"]]
        try:
            prices = [price for product in products for price in _hourly(json.loads(product))]
        except (AttributeError, InvalidOperation, KeyError, TypeError, ValueError) as error:
            call = "pricing:GetProducts"
            raise OutsideFailed(
                reason("aws.unknown-form", call=call, subject=subject, error=repr(error)), call, subject
            ) from error
        return max(prices, default=None)


def _hourly(product: Mapping[str, Any]) -> Iterator[Decimal]:
    """The on-demand prices for an hour. A price of 0 is ignored, since nothing is free."""
    for term in product["terms"].get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            amount = dimension["pricePerUnit"].get(CURRENCY)
            if dimension["unit"] in HOURLY and amount is not None and Decimal(amount) > 0:
                yield Decimal(amount).normalize()
