"""API Gateway's REST APIs: methods with mapping templates, in front of AWS services and of nothing.

https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-rest-api.html A stage answers below
/_restapis/API-ID/STAGE of the endpoint, from the snapshot that its deployment is. moto keeps the state, which is read
without an AWS call. A request takes no virtual time.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from moto.apigateway.models import RestAPI, apigateway_backends

from local.aws.api.gateway_responses import Refused, answer
from local.aws.api.mapping_templates import Input, render
from local.aws.api.own_services import Document
from local.aws.api.rest_api_integrations import Integrations, response_to
from local.aws.api.rest_api_snapshots import Snapshot, keep_snapshots, served
from local.aws.api.server import Request, Response, Server
from local.aws.api.service_context import ServiceContext
from local.aws.api.throttles import MOST_BYTES, Throttles
from local.aws.cloudformation.types.rest_api import PAGE

JSON = "application/json"
#: Requests a second and at once for a stage without a throttle: the account's (API Gateway quotas).
RATE, BURST = 10_000.0, 5_000.0


class RestApi:
    """All REST APIs of one embedded cloud."""

    def __init__(self, server: Server, around: ServiceContext) -> None:
        self._around = around
        self._throttles = Throttles(around.clock)
        self._integrations = Integrations(around)
        keep_snapshots()
        server.page(PAGE, self._answer)

    def _answer(self, request: Request) -> Response:
        api_id, _, rest = request.path.strip("/").partition("/")
        stage, _, path = rest.partition("/")
        api = apigateway_backends[self._around.account_id][self._around.region].apis.get(api_id)
        snapshot = served(api, stage) if api else None
        if api is None or snapshot is None:
            return Response(403, b'{"message":"Forbidden"}', {"Content-Type": JSON})
        try:
            return self._of_a_method(api, snapshot, stage, f"/{path}", request)
        except Refused as refused:
            return answer(refused, snapshot.gateway_responses)

    def _of_a_method(
        self, api: RestAPI, snapshot: Snapshot, stage: str, path: str, request: Request
    ) -> Response:
        method = snapshot.methods.get((path, request.method)) or snapshot.methods.get((path, "ANY"))
        if method is None:
            raise Refused("MISSING_AUTHENTICATION_TOKEN")
        key = f"{path.replace('/', '~1')}/{method['httpMethod']}"
        self._throttle(api, stage, key)
        if len(request.body) > MOST_BYTES:
            raise Refused("REQUEST_TOO_LARGE")
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        _validate(method, snapshot.validators, query, request.sent_headers)
        integration = method["methodIntegration"]
        context = {
            "httpMethod": request.method,
            "requestId": str(uuid.uuid4()),
            "requestTimeEpoch": str(int(self._around.clock.time() * 1000)),
        }
        # Without binaryMediaTypes a body is text: developer guide, "Content type conversions in API Gateway".
        body = request.body.decode("utf-8", "replace")
        given = Input(body, query, request.sent_headers, context)
        template = _request_template(integration, request.headers.get("content-type") or JSON)
        source = self._around.arn("execute-api", f"{api.id}/{stage}/{request.method}{path}")
        text = body if template is None else render(template, given)
        status, said = self._integrations.call(integration, text, source)
        return _response(response_to(integration, status), replace(given, body=said))

    def _throttle(self, api: RestAPI, stage: str, key: str) -> None:
        settings = api.stages[stage].method_settings
        own = settings.get(key) or settings.get("*/*") or {}
        rate, burst = own.get("throttlingRateLimit", RATE), own.get("throttlingBurstLimit", BURST)
        # A method with settings of its own has its own bucket; the others of a stage share one.
        bucket = f"{api.id}/{stage}/{key if key in settings else '*'}"
        if not self._throttles.lets_in(bucket, float(rate), float(burst)):
            raise Refused("THROTTLED")


def _validate(
    method: Document, validators: Mapping[str, Document], query: Mapping[str, str], headers: Mapping[str, str]
) -> None:
    """Required parameters must be there and not blank
    (https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-request-validation.html)."""
    validator = validators.get(method.get("requestValidatorId") or "")
    if validator is None or not validator.get("validateRequestParameters"):
        return
    places = {"header": headers, "querystring": query}
    required = sorted(name for name, needed in (method.get("requestParameters") or {}).items() if needed)
    named = [parameter.split(".", 3)[2:] for parameter in required]
    missing = [name for place, name in named if not places[place].get(name, "").strip()]
    if missing:
        raise Refused("BAD_REQUEST_PARAMETERS", ", ".join(missing))


def _request_template(integration: Document, content_type: str) -> str | None:
    """The template for the content type, which must be written as in the API; None if the body passes through.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/integration-passthrough-behaviors.html
    """
    templates = integration.get("requestTemplates") or {}
    if content_type in templates:
        return str(templates[content_type])
    behaviour = integration.get("passthroughBehavior") or "WHEN_NO_MATCH"
    if behaviour == "WHEN_NO_MATCH" or (behaviour == "WHEN_NO_TEMPLATES" and not templates):
        return None
    raise Refused("UNSUPPORTED_MEDIA_TYPE")


def _response(response: Mapping[str, Any], given: Input) -> Response:
    """The answer to the client. Without a template the integration's own answer passes through.

    An empty template is none: API Gateway keeps null for it (recorded by LocalStack's
    test_put_integration_response_validation).
    """
    template = (response.get("responseTemplates") or {}).get(JSON)
    body = render(template, given) if template else given.body
    return Response(int(response["statusCode"]), body.encode(), {"Content-Type": JSON})
