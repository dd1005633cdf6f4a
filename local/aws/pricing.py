"""The Price List API for on-demand Linux instances, from the table that the product ships."""

import json

from lamplighter.data.prices import on_demand
from local.aws.api.own_services import Document
from local.aws.eks.prices import fees


class Pricing:
    """Public methods with the names of boto3's operations are operations of `pricing`."""

    def get_products(self, request: Document) -> Document:
        """At most one product: that of the type and region in the filters."""
        wanted = {one["Field"]: one["Value"] for one in request.get("Filters") or []}
        if request["ServiceCode"] == "AmazonEKS":
            return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in fees(wanted)]}
        region, instance_type = wanted.get("regionCode", ""), wanted.get("instanceType", "")
        price = on_demand(region, instance_type) if request["ServiceCode"] == "AmazonEC2" else None
        if price is None:
            return {"FormatVersion": "aws_v1", "PriceList": []}
        dimension = {
            "unit": "Hrs",
            "description": f"${price} per On Demand Linux {instance_type} Instance Hour",
            "pricePerUnit": {"USD": f"{price:.10f}"},
        }
        product = {
            "product": {
                "productFamily": "Compute Instance",
                "attributes": {
                    "instanceType": instance_type,
                    "regionCode": region,
                    "operatingSystem": "Linux",
                    "tenancy": "Shared",
                    "preInstalledSw": "NA",
                    "capacitystatus": "Used",
                },
            },
            "serviceCode": "AmazonEC2",
            "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
        }
        return {"FormatVersion": "aws_v1", "PriceList": [json.dumps(product)]}
