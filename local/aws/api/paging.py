"""Lists in pages, as AWS returns them: 100 items unless the caller asks for fewer, and a token for the rest.

botocore's data says which operations have pages, and the names of their parameters. An operation that pages its own
answer stays as it is.
"""

from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import UnknownServiceError

#: The size of a page if the caller names none.
PAGE = 100
SMALLER = {("autoscaling", "DescribeAutoScalingGroups"): 50, ("lambda", "ListFunctions"): 50}


def paged(service: str, operation: str, request: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """The page that the request asks for. `operation` is the name in the service's model."""
    rules = _paginators(service).get(operation)
    if rules is None or not isinstance(rules["result_key"], str) or not isinstance(rules["input_token"], str):
        return reply
    key, token, limit = rules["result_key"], rules["output_token"], rules.get("limit_key", "")
    everything = reply.get(key)
    if not isinstance(everything, list) or token in reply:
        return reply
    first = int(request.get(rules["input_token"]) or 0)
    last = first + int(request.get(limit) or SMALLER.get((service, operation), PAGE))
    more = {token: str(last)} if last < len(everything) else {}
    return {**reply, key: everything[first:last], **more}


@cache
def _paginators(service: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = (
            _session().get_component("data_loader").load_service_model(service, "paginators-1")["pagination"]
        )
    except UnknownServiceError:
        return {}
    return found


@cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()
