"""The price list's products of Amazon EKS: the fee of Auto Mode by instance type, from the product's own table."""

from collections.abc import Iterator

from lamplighter.data.prices import auto_mode_fee
from local.aws.api.own_services import Document

_BEGINS, _ENDS = "EKS-Auto:", "-management-hours"


def fees(wanted: dict[str, str]) -> Iterator[Document]:
    """At most one product: that of the region and usage type in the filters.

    The usage type on AWS begins with a code of the region, which a filter by a part of it leaves out.
    """
    region, usage = wanted.get("regionCode", ""), wanted.get("usagetype", "")
    fee = auto_mode_fee(region, usage.partition(_BEGINS)[2].removesuffix(_ENDS))
    if fee is None:
        return
    dimension = {
        "unit": "Hrs",
        "description": f"${fee} per hour of management",
        "pricePerUnit": {"USD": f"{fee:.10f}"},
    }
    yield {
        "product": {"productFamily": "Compute", "attributes": {"regionCode": region, "usagetype": usage}},
        "serviceCode": "AmazonEKS",
        "terms": {"OnDemand": {"term": {"priceDimensions": {"dimension": dimension}}}},
    }
