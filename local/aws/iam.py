"""Who may do what: calls with a role's temporary credentials are judged by that role's policies.

Actions only: resources and conditions are asserted on the templates, and moto's own judge takes a statement
about one resource for a refusal. A user without any policy (the admin of `local up`) may do everything.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from moto.core import errors
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.responses import ActionResult
from moto.core.utils import get_service_model
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.iam.exceptions import NotFoundException
from moto.iam.models import Policy, iam_backends
from moto.s3.models import FakeBucket
from moto.sts.models import sts_backends
from werkzeug.exceptions import HTTPException

from local.aws.own_services import AwsError
from local.aws.refusals import CODES, Refusal

ACCOUNT = "123456789012"
PARTITION = "aws"
REGION = "us-east-1"  # IAM is global; its calls are signed for this one

#: IAM names a few services and actions otherwise than their endpoints do.
_SERVICES = {"monitoring": "cloudwatch", "tagging": "tag", "email": "ses", "dynamodbstreams": "dynamodb"}
_ACTIONS = {"lambda:Invoke": "lambda:InvokeFunction", "lambda:InvokeAsync": "lambda:InvokeFunction"}
#: What AWS lets everybody ask.
_ALWAYS = frozenset({"sts:GetCallerIdentity"})
#: Calls that hand a role to a service need iam:PassRole as well.
_PASSING = frozenset(
    {
        "scheduler:CreateSchedule",
        "scheduler:UpdateSchedule",
        "lambda:CreateFunction",
        "states:CreateStateMachine",
    }
)
#: A transaction is no action of IAM's: each of its parts is judged as the write or read that it is.
_PARTS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Get": "dynamodb:GetItem",
}
#: How a refusal is called, by the protocol that a service speaks.
_REFUSAL = "AccessDeniedException"
_REFUSALS = {"ec2": "UnauthorizedOperation", "query": "AccessDenied", "rest-xml": "AccessDenied"}


Refused = Callable[[str, str, str], Refusal | None]


@dataclass(frozen=True)
class Credentials:
    access_key_id: str
    secret_access_key: str
    session_token: str

    def environment(self) -> dict[str, str]:
        """As every AWS SDK reads them."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_SESSION_TOKEN": self.session_token,
        }


def assume(role_arn: str, session: str, region: str) -> Credentials:
    """Temporary credentials of a role, as AWS hands them to a function or a state machine."""
    role = sts_backends[ACCOUNT][PARTITION].assume_role(
        region_name=region,
        role_session_name=session[:64],
        role_arn=role_arn,
        policy="",
        duration=3600,
        external_id="",
    )
    return Credentials(role.access_key_id, role.secret_access_key, role.session_token)


@dataclass(frozen=True)
class Holder:
    """Whose an access key is."""

    access_key: str
    secret: str
    token: str | None
    arn: str
    user_id: str
    policies: tuple[str, ...] | None
    """Documents; None for a user who has none at all, whom nothing restricts here."""


def person(name: str, access_key_id: str, secret_access_key: str) -> None:
    """A user whose key this is, so that AWS can say who calls; without a policy, none restricts them here."""
    iam = iam_backends[ACCOUNT][PARTITION]
    iam.create_user(REGION, name)
    key = iam.create_access_key(name)
    key.access_key_id, key.secret_access_key = access_key_id, secret_access_key


def holder(access_key_id: str) -> Holder | None:
    """Whose key it is; None for a key that AWS does not know."""
    role = role_of(access_key_id)
    if role is not None:
        documents = tuple(_documents(role.role_arn.rpartition("/")[2]))
        return Holder(
            access_key_id, role.secret_access_key, role.session_token, role.arn, role.user_id, documents
        )
    iam = iam_backends[ACCOUNT][PARTITION]
    for user in iam.users.values():
        for key in user.access_keys:
            if key.access_key_id == access_key_id:
                attached = [_document(policy) for policy in user.managed_policies.values()]
                documents = (*user.policies.values(), *attached)
                return Holder(
                    access_key_id, key.secret_access_key, None, user.arn, user.id, documents or None
                )
    return None


def may(holder: Holder, action: str, resource: str) -> bool:
    """Whether the holder's policies allow the action on this very resource, and none denies it.

    A condition is taken as not met where it would allow, and as met where it would deny.
    """
    if holder.policies is None:
        return True
    verdicts = {
        statement["Effect"]
        for document in holder.policies
        for statement in _list(json.loads(document)["Statement"])
        if _concerns(statement, action)
        and any(fnmatchcase(resource, pattern) for pattern in _list(statement.get("Resource", "*")))
        and (statement["Effect"] == "Deny" or "Condition" not in statement)
    }
    return verdicts == {"Allow"}


def role_of(access_key_id: str) -> Any | None:
    """The assumed role behind an access key (moto's AssumedRole: role_arn, arn), None for any other key."""
    if not access_key_id.startswith("ASIA"):
        return None
    roles = sts_backends[ACCOUNT][PARTITION].assumed_roles
    return next((role for role in roles if role.access_key_id == access_key_id), None)


def _allowed(documents: Iterable[str], action: str) -> bool:
    """Whether the policies allow the action on anything, and none denies it on everything."""
    verdicts = [verdict for document in documents for verdict in _verdicts(document, action)]
    return "Allow" in verdicts and "Deny" not in verdicts


def enforce(refused: Refused = lambda *_: None) -> None:
    """Ask these rules before each action of moto's; idempotent.

    `refused` is asked of every call that may be made what AWS answers instead of doing it, by access key,
    service and operation.
    """

    def authorize(response: Any, _request: type, _resource: str = "*") -> None:
        _authorize(response)
        refusal = refused(response.access_key, _service(response), response._get_action())  # noqa: SLF001
        if refusal is not None:
            raise _answered(response, refusal.error, refusal.status)

    known = errors.COMMON_ERROR_CODES
    known.extend(code for code in {*_REFUSALS.values(), _REFUSAL, *CODES} if code not in known)
    ActionAuthenticatorMixin._authenticate_and_authorize_action = authorize  # type: ignore[method-assign,assignment]  # noqa: SLF001 (moto's own seam)
    FakeBucket.get_permission = _of_bucket  # type: ignore[method-assign,assignment]


def _of_bucket(bucket: FakeBucket, action: str, resource: str) -> PermissionResult:
    """What a bucket's policy says by its statements without conditions; moto takes any condition as not met."""
    if bucket.policy is None:
        return PermissionResult.NEUTRAL
    policy = json.loads(bucket.policy)
    policy["Statement"] = [each for each in _list(policy["Statement"]) if "Condition" not in each]
    return IAMPolicy(json.dumps(policy)).is_action_permitted(action, resource)


def _authorize(response: Any) -> None:
    known = holder(response.access_key)
    if known is None or known.policies is None:
        return
    service = _service(response)
    action = f"{_SERVICES.get(service, service)}:{response._get_action()}"  # noqa: SLF001
    action = _ACTIONS.get(action, action)
    if action in _ALWAYS:
        return
    for needed in _needed(action, response.body):
        if not _allowed(known.policies, needed):
            raise _denied(response, f"User: {known.arn} is not authorized to perform: {needed}")


def _needed(action: str, body: Any) -> set[str]:
    """The actions that a call needs."""
    if action.startswith("dynamodb:Transact"):
        return {_PARTS[part] for item in body["TransactItems"] for part in item}
    return {action, "iam:PassRole"} if action in _PASSING else {action}


def _denied(response: Any, reason: str) -> HTTPException:
    protocol = response.determine_response_protocol(get_service_model(response.boto3_service_name))
    return _answered(response, AwsError(_REFUSALS.get(protocol, _REFUSAL), reason), 403)


def _answered(response: Any, error: AwsError, status: int) -> HTTPException:
    """The error as the service's protocol has it."""
    _, headers, body = response.serialized(ActionResult(error))
    response.response_headers.update(headers)
    refusal = HTTPException(description=body)
    refusal.code = status
    return refusal


def _service(response: Any) -> str:
    """The name that signed the call, in a header or in the address of a signed link; none of an unsigned one."""
    signed = response.headers.get("Authorization", "").partition("Credential=")[2]
    scope: str = signed or unquote(response.uri).partition("X-Amz-Credential=")[2]
    _key, _day, _region, service, *_ = [*scope.split("/"), "", "", "", ""]
    return service


def _documents(role_name: str) -> list[str]:
    """The role's policies."""
    iam = iam_backends[ACCOUNT][PARTITION]
    try:
        own: list[str] = list(iam.get_role(role_name).policies.values())
        attached, _ = iam.list_attached_role_policies(role_name)
    except NotFoundException:
        return []  # the role was deleted under a worker that still has its credentials
    return own + [_document(policy) for policy in attached]


@lru_cache(maxsize=10_000)
def _verdicts(document: str, action: str) -> tuple[str, ...]:
    """What the statements of a policy say of an action; the same text says the same every time."""
    return tuple(
        statement["Effect"]
        for statement in _list(json.loads(document)["Statement"])
        if _concerns(statement, action)
        and (
            statement["Effect"] == "Allow"
            or ("Condition" not in statement and "*" in _list(statement["Resource"]))
        )
    )


def _document(policy: Policy) -> str:
    document: str = next(version.document for version in policy.versions if version.is_default)
    return document


def _concerns(statement: dict[str, Any], action: str) -> bool:
    if "NotAction" in statement:
        return not _matches(statement["NotAction"], action)
    return _matches(statement["Action"], action)


def _matches(patterns: Any, action: str) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in _list(patterns))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
