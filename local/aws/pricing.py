"""The Price List API for on-demand Linux instances, from the table that the product ships."""

import json
from collections.abc import Iterator
from decimal import Decimal

from lamplighter.data.prices import known_types, on_demand
from local.aws.api.own_services import Document

#: The product families of instances.
VIRTUAL, METAL = "Compute Instance", "Compute Instance (bare metal)"


class Pricing:
    """Public methods with the names of boto3's operations are operations of `pricing`."""

    def get_products(self, request: Document) -> Document:
        """The products of the table that match all filters on attributes that a product here has.

        The service's code is such a filter as well; a product has it beside its attributes.
        """
        wanted = {one["Field"]: one["Value"] for one in request.get("Filters") or []}
        found = _products(wanted) if request["ServiceCode"] == "AmazonEC2" else iter(())
        return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(product) for product in found]}


def _products(wanted: dict[str, str]) -> Iterator[Document]:
    region = wanted.get("regionCode", "")
    for instance_type in [wanted["instanceType"]] if "instanceType" in wanted else known_types(region):
        price = on_demand(region, instance_type)
        if price is None:
            continue
        product = _product(region, instance_type, price)
        own = {**product["product"]["attributes"], "productFamily": product["product"]["productFamily"]}
        if all(own.get(field, value) == value for field, value in wanted.items()):
            yield product


def _product(region: str, instance_type: str, price: Decimal) -> Document:
    family = METAL if ".metal" in instance_type else VIRTUAL
    dimension = {
        "unit": "Hrs",
        "description": f"${price} per On Demand Linux {instance_type} Instance Hour",
        "pricePerUnit": {"USD": f"{price:.10f}"},
    }
    return {
        "product": {
            "productFamily": family,
            "attributes": {
                "instanceType": instance_type,
                "regionCode": region,
                "operatingSystem": "Linux",
                # Nobody shares bare metal: its price is found by either tenancy [est].
                **({"tenancy": "Shared"} if family == VIRTUAL else {}),
                "preInstalledSw": "NA",
                "capacitystatus": "Used",
                "marketoption": "OnDemand",
            },
        },
        "serviceCode": "AmazonEC2",
        "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
    }
