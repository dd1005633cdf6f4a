"""API Gateway's HTTP APIs in front of Lambda: routes as moto keeps them, events in payload format 2.0.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html An API answers
below /_apis/API-ID of the endpoint: a named stage below its name, `$default` at the base
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-stages.html). Routes are read from moto's objects
without an AWS call, because API Gateway knows its own routes, too.
"""

import base64
import binascii
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from moto.apigatewayv2.models import apigatewayv2_backends
from moto.awslambda.exceptions import UnknownFunctionException

from local.aws.api.http_api_authorizer import context, let_in
from local.aws.api.server import Request, Response, Server
from local.aws.api.service_context import ServiceContext
from local.aws.api.throttles import MOST_BYTES, Throttles
from local.aws.cloudformation.types.http import PAGE
from local.aws.functions.runtime import Throttled
from local.aws.functions.service import LambdaService
from local.aws.iam import Service, may

#: Bodies of other types, also forms, reach the function in base64.
TEXT = re.compile(r"text/|application/(json|xml|javascript)|.*\+(json|xml)(;|$)")
DEFAULT_STAGE = "$default"


@dataclass(frozen=True)
class _Match:
    """The route that answers, and the values of its path parameters."""

    key: str
    target: str
    parameters: Mapping[str, str]
    authorizer: str | None


class HttpApi:
    """All HTTP APIs of one embedded cloud."""

    def __init__(self, server: Server, around: ServiceContext, functions: LambdaService) -> None:
        self._around = around
        self._functions = functions
        self._throttles = Throttles(around.clock)
        server.page(PAGE, self._answer)

    def _answer(self, request: Request) -> Response:
        api_id, _, rest = request.path.strip("/").partition("/")
        path = f"/{rest}"
        if len(request.body) > MOST_BYTES:
            return _message(413, "Request Too Long")
        api = apigatewayv2_backends[self._around.account_id][self._around.region].apis.get(api_id)
        stage, below = _stage(api, path) if api else (None, path)
        match = _route(api.get_routes(), request.method, below) if api and stage else None
        if api is None or stage is None or match is None:
            return _message(404, "Not Found")
        if not self._lets_in(api, stage):
            return _message(429, "Too Many Requests")
        integration = api.get_integration(match.target.rpartition("/")[2])
        event = self._event(api_id, stage, path, request, match)
        around = self._around
        resource = around.arn("execute-api", f"{api_id}/{stage}/{request.method}{below}")
        if match.authorizer == "AWS_IAM":
            holder = let_in(request, around.endpoint, resource, around.state)
            if holder is None:
                return _message(403, "Forbidden")
            event["requestContext"]["authorizer"] = context(holder)
        function = _function(integration.integration_uri)
        gateway = Service("apigateway.amazonaws.com", resource)
        if not may(gateway.caller(), "lambda:InvokeFunction", function, around.state):
            return _message(500, "Internal Server Error")
        return self._of_the_function(function, event)

    def _lets_in(self, api: Any, stage: str) -> bool:
        """Whether the throttle of the stage has a token for one more request."""
        settings = api.stages[stage].default_route_settings
        rate, burst = settings.get("throttlingRateLimit"), settings.get("throttlingBurstLimit")
        if rate is None or burst is None:
            return True
        return self._throttles.lets_in(f"{api.api_id}/{stage}", float(rate), float(burst))

    def _of_the_function(self, function: str, event: dict[str, Any]) -> Response:
        try:
            outcome = self._functions.run(function, json.dumps(event).encode())
        except UnknownFunctionException:
            return _message(500, "Internal Server Error")
        except Throttled:
            return _message(503, "Service Unavailable")
        if outcome.failed:
            return _message(500, "Internal Server Error")
        try:
            return _response(json.loads(outcome.payload))
        except (ValueError, TypeError, binascii.Error):
            return _message(500, "Internal Server Error")

    def _event(self, api: str, stage: str, path: str, request: Request, match: _Match) -> dict[str, Any]:
        now = self._around.clock.now()
        text = _is_text(request)
        domain = f"{api}.execute-api.{self._around.region}.amazonaws.com"
        cookies = request.headers.get("cookie")
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": match.key,
            "rawPath": path,
            "rawQueryString": request.query,
            "headers": {name: value for name, value in request.headers.items() if value and name != "cookie"},
            "requestContext": {
                "accountId": self._around.account_id,
                "apiId": api,
                "domainName": domain,
                "domainPrefix": api,
                "http": {
                    "method": request.method,
                    "path": path,
                    "protocol": "HTTP/1.1",
                    "sourceIp": request.address,
                    "userAgent": request.headers.get("user-agent", ""),
                },
                "requestId": str(uuid.uuid4()),
                "routeKey": match.key,
                "stage": stage,
                "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
                "timeEpoch": int(now.timestamp() * 1000),
            },
            "isBase64Encoded": bool(request.body) and not text,
        }
        if request.query:
            event["queryStringParameters"] = _query(request.query)
        if match.parameters:
            event["pathParameters"] = dict(match.parameters)
        if cookies:
            event["cookies"] = [cookie.strip() for cookie in cookies.split(";")]
        if request.body:
            event["body"] = (request.body if text else base64.b64encode(request.body)).decode()
        return event


def _is_text(request: Request) -> bool:
    """Whether the body is passed on as it is. Other bodies are encoded, because bytes that are no text would change."""
    if not TEXT.match(request.headers.get("content-type", "text/plain").lower()):
        return False
    try:
        request.body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _stage(api: Any, path: str) -> tuple[str | None, str]:
    """The stage that answers at the path, and the rest of the path."""
    first, _, rest = path.removeprefix("/").partition("/")
    if first in api.stages and first != DEFAULT_STAGE:
        return first, f"/{rest}"
    return (DEFAULT_STAGE if DEFAULT_STAGE in api.stages else None), path


def _route(routes: Iterable[Any], method: str, path: str) -> _Match | None:
    """The most specific route: a path as written, then with {names}, then greedy {name+}, then $default."""
    found: list[tuple[tuple[int, int], _Match]] = []
    for route in routes:
        key = route.route_key
        if key == "$default":
            found.append(((3, 0), _Match(key, route.target, {}, route.authorization_type)))
            continue
        wanted, _, template = key.partition(" ")
        matched = re.fullmatch(_pattern(template), path)
        if matched and wanted in {method, "ANY"}:
            looseness = 2 if "+}" in template else 1 if "{" in template else 0
            rank = (looseness, int(wanted == "ANY"))
            found.append((rank, _Match(key, route.target, matched.groupdict(), route.authorization_type)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _pattern(template: str) -> str:
    parts = re.split(r"(\{[A-Za-z0-9_-]+\+?\})", template)
    names = {part: part.strip("{}+").replace("-", "_") for part in parts if part.startswith("{")}
    return "".join(
        f"(?P<{names[part]}>{'.+' if '+' in part else '[^/]+'})" if part in names else re.escape(part)
        for part in parts
    )


def _query(text: str) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return {name: ",".join(several) for name, several in values.items()}


def _function(uri: str) -> str:
    """The function of an integration: its ARN, bare or inside API Gateway's invocation address."""
    return uri.partition("/functions/")[2].removesuffix("/invocations") or uri


def _response(answer: Any) -> Response:
    if not isinstance(answer, dict) or "statusCode" not in answer:
        return Response(body=json.dumps(answer).encode(), headers={"Content-Type": "application/json"})
    body = answer.get("body") or ""
    content = base64.b64decode(body) if answer.get("isBase64Encoded") else str(body).encode()
    headers = {name: str(value) for name, value in (answer.get("headers") or {}).items()}
    if "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "text/plain; charset=utf-8"
    for cookie in answer.get("cookies", []):
        headers["Set-Cookie"] = cookie
    return Response(int(answer["statusCode"]), content, headers)


def _message(status: int, text: str) -> Response:
    body = json.dumps({"message": text}).encode()
    return Response(status, body, {"Content-Type": "application/json"})
