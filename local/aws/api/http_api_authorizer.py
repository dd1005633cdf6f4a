"""The AWS_IAM authorizer of an HTTP API: it needs a valid signature, and a policy that allows this address.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-access-control-iam.html botocore computes the
signature again with the secret of the key.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.aws import iam
from local.aws.api.server import Request
from local.aws.authorization.state import State

ACTION = "execute-api:Invoke"
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/execute-api/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)


def context(holder: iam.Holder) -> Mapping[str, Any]:
    """`requestContext.authorizer` of the event: who signed the request."""
    return {
        "iam": {
            "accessKey": holder.access_key,
            "accountId": iam.ACCOUNT,
            "callerId": holder.caller.user_id,
            "cognitoIdentity": None,
            "principalOrgId": None,
            "userArn": holder.caller.arn,
            "userId": holder.caller.user_id,
        }
    }


def let_in(request: Request, endpoint: str, resource: str, state: State) -> iam.Holder | None:
    """The caller, if the signature is valid and the caller's policies allow the address; otherwise None."""
    signed = _SIGNED.fullmatch(request.headers.get("authorization", ""))
    holder = iam.holder(signed[1]) if signed else None
    if signed is None or holder is None:
        return None
    if not hmac.compare_digest(_signature(request, endpoint, signed[2], signed[3], holder), signed[4]):
        return None
    if holder.token != request.headers.get("x-amz-security-token"):
        return None
    allowed = not holder.restricted or iam.may(holder.caller, ACTION, resource, state)
    return holder if allowed else None


def _signature(request: Request, endpoint: str, region: str, names: str, holder: iam.Holder) -> str:
    query = f"?{request.query}" if request.query else ""
    headers = {name: request.headers.get(name, "") for name in names.split(";")}
    asked = AWSRequest(request.method, f"{endpoint}{request.raw_path}{query}", headers, request.body)
    asked.context["timestamp"] = request.headers.get("x-amz-date", "")
    auth = SigV4Auth(Credentials(holder.access_key, holder.secret), "execute-api", region)
    return str(auth.signature(auth.string_to_sign(asked, auth.canonical_request(asked)), asked))
