"""API Gateway's own answers, each of which an API can change.

https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
"""

import json
from collections.abc import Mapping

from local.aws.api.own_services import Document
from local.aws.api.server import Response

#: Status code and text by type. Only a type that the embedded cloud answers with has a text.
TYPES: Mapping[str, tuple[int, str]] = {
    "ACCESS_DENIED": (403, ""),
    "API_CONFIGURATION_ERROR": (500, "Internal server error"),
    "AUTHORIZER_CONFIGURATION_ERROR": (500, ""),
    "AUTHORIZER_FAILURE": (500, ""),
    "BAD_REQUEST_BODY": (400, ""),
    "BAD_REQUEST_PARAMETERS": (400, "Missing required request parameters: [{}]"),
    "DEFAULT_4XX": (0, ""),
    "DEFAULT_5XX": (0, ""),
    "EXPIRED_TOKEN": (403, ""),
    "INTEGRATION_FAILURE": (504, "Internal server error"),
    "INTEGRATION_TIMEOUT": (504, "Endpoint request timed out"),
    "INVALID_API_KEY": (403, ""),
    "INVALID_SIGNATURE": (403, ""),
    "MISSING_AUTHENTICATION_TOKEN": (403, "Missing Authentication Token"),
    "QUOTA_EXCEEDED": (429, ""),
    "REQUEST_TOO_LARGE": (413, "Request Too Long"),
    "RESOURCE_NOT_FOUND": (404, ""),
    "THROTTLED": (429, "Too Many Requests"),
    "UNAUTHORIZED": (401, ""),
    "UNSUPPORTED_MEDIA_TYPE": (415, "Unsupported Media Type"),
    "WAF_FILTERED": (403, ""),
}
_SERVER_ERROR = 500


class Refused(Exception):
    """API Gateway answers itself, with a response of this type."""

    def __init__(self, kind: str, *words: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.text = TYPES[kind][1].format(*words)


def answer(refused: Refused, changed: Mapping[str, Document]) -> Response:
    """The response of that type, or of its default, as the API has changed it.

    Its template knows simple variables only, and no Velocity (developer guide, "Gateway responses"). An empty body in a
    template is an empty body.
    """
    status = TYPES[refused.kind][0]
    default = "DEFAULT_5XX" if status >= _SERVER_ERROR else "DEFAULT_4XX"
    own = changed.get(refused.kind) or changed.get(default) or {}
    templates = own.get("responseTemplates") or {
        "application/json": '{"message":$context.error.messageString}'
    }
    kind, template = next(iter(templates.items()))
    body = (
        template.replace("$context.error.messageString", json.dumps(refused.text))
        .replace("$context.error.message", refused.text)
        .replace("$context.error.responseType", refused.kind)
    )
    if "$" in body:
        raise ValueError(f"the embedded cloud does not know what is in the gateway response {body!r}")
    return Response(int(own.get("statusCode") or status), body.encode(), {"Content-Type": kind})
