"""The Price List API for on-demand Linux instances and EKS Auto Mode's fee, from the tables that the product ships."""

import json

from lamplighter.data.prices import auto_mode_fee, on_demand
from local.aws.api.own_services import Document

_BEGINS, _ENDS = "EKS-Auto:", "-management-hours"


class Pricing:
    """Public methods with the names of boto3's operations are operations of `pricing`."""

    def get_products(self, request: Document) -> Document:
        """At most one product: that of the type and region in the filters."""
        wanted = {one["Field"]: one["Value"] for one in request.get("Filters") or []}
        product = _instance(wanted) if request["ServiceCode"] == "AmazonEC2" else _fee(wanted)
        return {"FormatVersion": "aws_v1", "PriceList": [] if product is None else [json.dumps(product)]}


def _instance(wanted: dict[str, str]) -> Document | None:
    region, instance_type = wanted.get("regionCode", ""), wanted.get("instanceType", "")
    price = on_demand(region, instance_type)
    if price is None:
        return None
    attributes = {
        "instanceType": instance_type,
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    said = f"${price} per On Demand Linux {instance_type} Instance Hour"
    return _product("AmazonEC2", "Compute Instance", attributes, said, f"{price:.10f}")


def _fee(wanted: dict[str, str]) -> Document | None:
    """The fee of EKS Auto Mode; a real usage type begins with a code of the region."""
    region, usage = wanted.get("regionCode", ""), wanted.get("usagetype", "")
    fee = auto_mode_fee(region, usage.partition(_BEGINS)[2].removesuffix(_ENDS))
    if fee is None:
        return None
    attributes = {"regionCode": region, "usagetype": usage}
    return _product("AmazonEKS", "Compute", attributes, f"${fee} per hour of management", f"{fee:.10f}")


def _product(service: str, family: str, attributes: dict[str, str], said: str, price: str) -> Document:
    dimension = {"unit": "Hrs", "description": said, "pricePerUnit": {"USD": price}}
    return {
        "product": {"productFamily": family, "attributes": attributes},
        "serviceCode": service,
        "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
    }
