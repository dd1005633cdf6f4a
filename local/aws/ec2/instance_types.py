"""DescribeInstanceTypes and DescribeSpotPriceHistory, in pages, for the types that the region offers.

moto takes seconds to write the answer about all types, and writes it anew for each call; the types never change. So an
answer is kept, for all clouds of this process. moto's spot prices are all the same and stay; prices.py has others.
"""

import json
from datetime import UTC, datetime
from functools import cache

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.spot_instances import SpotInstances

from local.aws.api.own_services import Document
from local.aws.ec2 import prices, spot_requests

PRODUCT = "Linux/UNIX"
#: AWS answers with at most so many types at a time (EC2 API reference).
TYPES_A_PAGE, PRICES_A_PAGE = 100, 1000

#: Status, headers and body, as moto takes them.
Answer = tuple[int, dict[str, str], str]
_kept: dict[str, Answer] = {}


def install() -> None:
    """Puts both into moto, and the Spot requests. It may be called again."""
    InstanceResponse.describe_instance_types = _types  # type: ignore[method-assign,assignment]
    SpotInstances.describe_spot_price_history = _spot_prices  # type: ignore[method-assign,assignment]
    spot_requests.install()


def _types(response: InstanceResponse) -> Answer:
    response.error_on_dryrun()
    asked = _asked(response, "InstanceTypes", "Filters", "MaxResults", "NextToken")
    key = json.dumps([response.region, asked])
    if key not in _kept:
        status, headers, body = response.serialized(ActionResult(_described(response, asked)))
        _kept[key] = status, {name: str(value) for name, value in headers.items()}, str(body)
    status, headers, body = _kept[key]
    return status, dict(headers), body


def _described(response: InstanceResponse, asked: Document) -> Document:
    named = asked["InstanceTypes"] or []
    found = response.ec2_backend.describe_instance_types(named, response._filters_from_querystring())  # noqa: SLF001
    offered = _offered(response.region)
    types = [each for each in found if named or each["InstanceType"] in offered]
    page, token = _page(types, asked, TYPES_A_PAGE)
    return {"InstanceTypes": page, "NextToken": token}


def _spot_prices(response: SpotInstances) -> ActionResult:
    """The changes between two instants and the last one before, the newest first; by default the present prices."""
    asked = _asked(
        response,
        "InstanceTypes",
        "ProductDescriptions",
        "AvailabilityZone",
        "StartTime",
        "EndTime",
        "MaxResults",
        "NextToken",
    )
    response.error_on_dryrun()
    products = asked["ProductDescriptions"] or [PRODUCT]
    offers = response.ec2_backend.describe_spot_price_history(
        asked["InstanceTypes"] or [],
        response._filters_from_querystring(),  # noqa: SLF001
    )
    zone = asked["AvailabilityZone"]
    wanted = [each for each in offers if not zone or each["Location"] == zone] if PRODUCT in products else []
    now = utcnow().replace(tzinfo=UTC)
    since, until = _instant(asked["StartTime"], now), min(_instant(asked["EndTime"], now), now)
    history = [
        {
            "InstanceType": each["InstanceType"],
            "ProductDescription": PRODUCT,
            "SpotPrice": f"{price:.6f}",
            "AvailabilityZone": each["Location"],
            "Timestamp": moment,
        }
        for each in wanted
        for moment, price in prices.spot_path(
            response.region, each["InstanceType"], each["Location"], min(since, until), until
        )
    ]
    page, token = _page(history, asked, PRICES_A_PAGE)
    return ActionResult({"SpotPriceHistory": page, "NextToken": token})


def _instant(given: object, otherwise: datetime) -> datetime:
    if not given:
        return otherwise
    read = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read


def _asked(response: EC2BaseResponse, *names: str) -> Document:
    return {name: response._get_param(name) for name in names}  # noqa: SLF001 (moto's own parameters)


def _page(items: list[Document], asked: Document, longest: int) -> tuple[list[Document], str | None]:
    """One page and the token of the next. Without MaxResults, AWS answers about named types in one."""
    start = int(asked["NextToken"] or 0)
    end = start + min(int(asked["MaxResults"] or longest), longest)
    return items[start:end], str(end) if end < len(items) else None


@cache
def _offered(region: str) -> frozenset[str]:
    """The types that the region offers; all types, for a region that moto does not know."""
    offers = INSTANCE_TYPE_OFFERINGS["region"].get(region)
    return frozenset(each["InstanceType"] for each in offers) if offers else frozenset(INSTANCE_TYPES)
