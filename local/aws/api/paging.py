"""Lists as AWS gives them, a page at a time: 100 of them where nobody says less, and a token for the rest.

Which operations are paged, and by which names, botocore's own data says. What an operation pages itself is left.
"""

from functools import cache
from typing import Any

import botocore.session
from botocore.exceptions import UnknownServiceError

#: What one page holds where the caller does not say.
PAGE = 100
SMALLER = {("autoscaling", "DescribeAutoScalingGroups"): 50, ("lambda", "ListFunctions"): 50}


def paged(service: str, operation: str, request: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """The page of a reply that was asked for; `operation` as in the service's model."""
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
