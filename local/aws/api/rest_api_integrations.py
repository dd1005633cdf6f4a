"""What stands behind a method of a REST API: an AWS service that API Gateway calls in the name of a role, or nothing.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-integration-types.html The call has the
rendered template as its body, so an error in a template reaches the service.
"""

import json
import re
from collections.abc import Mapping

import urllib3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.aws import iam
from local.aws.api.gateway_responses import Refused
from local.aws.api.own_services import Document
from local.aws.api.service_context import FIBER_HEADER, ServiceContext

#: The default time-out of an integration of a REST API (API Gateway quotas, "Integration timeout").
TIMEOUT_SECONDS = 29.0
#: Connections that are kept open; more requests at once open more.
POOL = 64
URI = re.compile(r"arn:aws:apigateway:(?P<region>[^:]+):(?P<service>[^:]+):path(?P<path>/.*)")
HEADER = "integration.request.header."


class Integrations:
    """Calls them."""

    def __init__(self, around: ServiceContext) -> None:
        self._around = around
        self._http = urllib3.PoolManager(maxsize=POOL, retries=False)
        self._credentials: dict[str, iam.Credentials] = {}

    def call(self, integration: Document, text: str, source: str) -> tuple[int, str]:
        """Calls an integration with a rendered template; the status code and the body that it answers with.

        Raises Refused where API Gateway cannot call it.
        """
        if integration["type"] == "MOCK":
            return _mocked(text), ""
        return self._service(integration, text, source)

    def _service(self, integration: Document, text: str, source: str) -> tuple[int, str]:
        uri = URI.fullmatch(integration["uri"])
        if uri is None:
            raise Refused("API_CONFIGURATION_ERROR")
        role, around = integration["credentials"], self._around
        try:
            gateway = iam.Service("apigateway.amazonaws.com", source)
            iam.refuse_untrusted(role, gateway, around.state)
        except ClientError:
            raise Refused("API_CONFIGURATION_ERROR") from None
        headers = {
            name.removeprefix(HEADER): value.strip("'")
            for name, value in (integration.get("requestParameters") or {}).items()
        }
        method, url, body = str(integration["httpMethod"]), f"{around.endpoint}{uri['path']}", text.encode()
        request = AWSRequest(method, url, headers, body)
        self._sign(request, role, uri["service"], uri["region"])
        fiber = around.clock.fiber()
        if fiber is not None:
            request.headers[FIBER_HEADER] = str(fiber.number)
        try:
            sent = dict(request.headers)
            reply = self._http.request(method, url, body=body, headers=sent, timeout=TIMEOUT_SECONDS)
        except urllib3.exceptions.TimeoutError:
            raise Refused("INTEGRATION_TIMEOUT") from None
        return reply.status, reply.data.decode()

    def _sign(self, request: AWSRequest, role: str, service: str, region: str) -> None:
        """Signs it with credentials of the role."""
        if role not in self._credentials:
            self._credentials[role] = iam.assume(role, "BackplaneAssumeRoleSession", region)
        given = self._credentials[role]
        credentials = Credentials(given.access_key_id, given.secret_access_key, given.session_token)
        SigV4Auth(credentials, service, region).add_auth(request)


def _mocked(text: str) -> int:
    """A mock answers with the status code that its template says."""
    try:
        return int(json.loads(text)["statusCode"])
    except (ValueError, TypeError, KeyError):
        raise Refused("API_CONFIGURATION_ERROR") from None


def response_to(integration: Document, status: int) -> Mapping[str, object]:
    """The integration response for a status code: the first whose pattern matches all of it, otherwise the default.

    Raises Refused without either.
    """
    responses = list((integration.get("integrationResponses") or {}).values())
    matching = [
        each for each in responses if re.fullmatch(each.get("selectionPattern") or "(?!)", str(status))
    ]
    default = [each for each in responses if not each.get("selectionPattern")]
    if not matching + default:
        raise Refused("API_CONFIGURATION_ERROR")
    found: Mapping[str, object] = (matching + default)[0]
    return found
