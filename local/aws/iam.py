"""Callers: people and roles, their credentials and policies, and which service may assume a role.

Each call with a role's credentials is judged before it is carried out (local/aws/authorization). A user without any
policy (the admin of `local up`) may do everything, but put events that the policy of their bus denies.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from botocore.exceptions import ClientError
from moto.core import errors
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.responses import ActionResult
from moto.core.utils import get_service_model
from moto.iam.access_control import PermissionResult
from moto.iam.models import Policy as ManagedPolicy
from moto.iam.models import Role, iam_backends
from moto.s3.models import FakeBucket
from moto.sts.models import sts_backends
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from local.aws.api.own_services import AwsError
from local.aws.authorization.judge import Caller, denial, forbidden, trusts
from local.aws.authorization.organisation import ORGANISATION
from local.aws.authorization.propagation import PROPAGATION
from local.aws.authorization.record import RECORD, line
from local.aws.authorization.requests import Ask, asks, call_of, signing_name
from local.aws.authorization.state import State
from local.aws.authorization.statements import Policy
from local.aws.refusals import CODES, Refusal

ACCOUNT = "123456789012"
PARTITION = "aws"
REGION = "us-east-1"  # IAM is global; its calls are signed for this region

#: Actions that the policy of their resource may deny to an administrator as well.
_DENIED_BY_RESOURCES = frozenset({"events:PutEvents"})
_EVERYTHING = Policy(
    "administrator", json.dumps({"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
)
#: Actions that AWS allows everybody.
_ALWAYS = frozenset({"sts:GetCallerIdentity"})
#: The error code of a refusal, by service or protocol.
_REFUSAL = "AccessDeniedException"
_REFUSALS = {
    "ec2": "UnauthorizedOperation",
    "query": "AccessDenied",
    "rest-xml": "AccessDenied",
    "sns": "AuthorizationError",
    "sqs": "AccessDenied",
}

Refused = Callable[[str, str, str], Refusal | None]
#: Where moto's session keeps its tags here.
_TAGS = "session_tags"


@dataclass(frozen=True)
class Credentials:
    access_key_id: str
    secret_access_key: str
    session_token: str

    def environment(self) -> dict[str, str]:
        """The credentials as the environment variables of an AWS SDK."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret_access_key,
            "AWS_SESSION_TOKEN": self.session_token,
        }


def assume(
    role_arn: str, session: str, region: str, tags: Mapping[str, str] = MappingProxyType({})
) -> Credentials:
    """Temporary credentials of a role, as AWS gives them to a function or a state machine. `tags` are the session's."""
    role = sts_backends[ACCOUNT][PARTITION].assume_role(
        region_name=region,
        role_session_name=session[:64],
        role_arn=role_arn,
        policy="",
        duration=3600,
        external_id="",
    )
    vars(role)[_TAGS] = dict(tags)
    return Credentials(role.access_key_id, role.secret_access_key, role.session_token)


#: Services that also send the older aws:SourceOwner. The default policy of a topic uses it to allow its own account
#: (SNS developer guide, "aws:SourceAccount versus aws:SourceOwner"). EventBridge does not send it.
_NAMING_OWNERS = frozenset({"cloudwatch.amazonaws.com"})


@dataclass(frozen=True)
class Service:
    """An AWS service that acts for a resource of the account: `scheduler.amazonaws.com` for a schedule group."""

    principal: str
    source_arn: str = ""
    session_tags: Mapping[str, str] = field(default_factory=dict)
    """Which it asks a session to have; a trust policy reads them as tags of the request."""

    def caller(self) -> Caller:
        source = {"aws:sourcearn": self.source_arn, "aws:sourceaccount": ACCOUNT} if self.source_arn else {}
        if self.principal in _NAMING_OWNERS:
            source["aws:sourceowner"] = ACCOUNT
        source |= {f"aws:requesttag/{key.lower()}": value for key, value in self.session_tags.items()}
        return Caller(arn=self.principal, name=self.principal, service=self.principal, source=source)


LAMBDA = Service("lambda.amazonaws.com")


@dataclass(frozen=True)
class Holder:
    """The owner of an access key."""

    access_key: str
    secret: str
    token: str | None
    caller: Caller
    restricted: bool
    """False for a user without any policy, whom nothing restricts here."""


def person(name: str, access_key_id: str, secret_access_key: str) -> None:
    """A user with this key, so that AWS can name the caller. Without a policy, nothing restricts the user here."""
    iam = iam_backends[ACCOUNT][PARTITION]
    iam.create_user(REGION, name)
    key = iam.create_access_key(name)
    key.access_key_id, key.secret_access_key = access_key_id, secret_access_key


def holder(access_key_id: str) -> Holder | None:
    """The owner of a key; None for a key that AWS does not know."""
    session = role_of(access_key_id)
    if session is not None:
        return Holder(
            access_key_id, session.secret_access_key, session.session_token, _session(session), True
        )
    iam = iam_backends[ACCOUNT][PARTITION]
    for user in iam.users.values():
        for key in user.access_keys:
            if key.access_key_id == access_key_id:
                policies = tuple(_policies(user))
                caller = Caller(arn=user.arn, name=user.name, user_id=user.id, policies=policies)
                return Holder(access_key_id, key.secret_access_key, None, caller, bool(policies))
    return None


def _session(session: Any) -> Caller:
    role = _role(session.role_arn)
    if role is None:  # the role was deleted while a worker still has its credentials
        return Caller(arn=session.arn, role=session.role_arn, user_id=session.user_id)
    return Caller(
        arn=session.arn,
        name=role.name,
        role=role.arn,
        user_id=session.user_id,
        policies=tuple(_policies(role)),
        boundary=_boundary(role),
        # A tag of the session counts before the role's tag of the same name (IAM user guide, id_session-tags).
        tags={tag["Key"]: tag["Value"] for tag in role.tags or []} | vars(session).get(_TAGS, {}),
    )


def _role(arn: str) -> Role | None:
    name = arn.rpartition("/")[2]
    roles = iam_backends[ACCOUNT][PARTITION].roles.values()
    return next((role for role in roles if role.name == name), None)


def _policies(owner: Any) -> Iterator[Policy]:
    """The inline and managed policies of a role or user."""
    inline = PROPAGATION.acting(owner) if isinstance(owner, Role) else owner.policies
    for name, document in inline.items():
        yield Policy(name, document)
    for policy in owner.managed_policies.values():
        yield Policy(policy.name, _document(policy))


def _own_policies(role: Role) -> Iterator[Policy]:
    """The policies that AWS has not written."""
    for name, document in role.policies.items():
        yield Policy(name, document)
    for policy in role.managed_policies.values():
        if not policy.arn.startswith(f"arn:{PARTITION}:iam::aws:"):
            yield Policy(policy.name, _document(policy))


def _boundary(role: Role) -> Policy | None:
    arn = role.permissions_boundary_arn
    if not arn:
        return None
    policy = iam_backends[ACCOUNT][PARTITION].get_policy(arn)
    return Policy(policy.name, _document(policy))


def _document(policy: ManagedPolicy) -> str:
    document: str = next(version.document for version in policy.versions if version.is_default)
    return document


def may(
    caller: Caller,
    action: str,
    resource: str,
    state: State,
    said: Mapping[str, tuple[str, ...]] | None = None,
) -> bool:
    """Whether the policies of a caller and of the resource allow the action on it.

    `said` are values of condition keys that a call would have, by key in lower case.
    """
    return denial(caller, Ask(action, (resource,), said or {}), state) is None


def role_of(access_key_id: str) -> Any | None:
    """The assumed role behind an access key (moto's AssumedRole: role_arn, arn); None for any other key."""
    if not access_key_id.startswith("ASIA"):
        return None
    roles = sts_backends[ACCOUNT][PARTITION].assumed_roles
    return next((role for role in reversed(roles) if role.access_key_id == access_key_id), None)


def may_assume(role_arn: str, by: Service, state: State, action: str = "sts:AssumeRole") -> bool:
    """Whether the role exists and its trust policy allows the service to assume it, or another action of a trust."""
    role = _role(role_arn)
    if role is None or not PROPAGATION.knows(role):
        return False
    return trusts(role.arn, role.assume_role_policy_document, by.caller(), state, action)


def refuse_untrusted(role_arn: str, by: Service, state: State, *, tagged: bool = False) -> None:
    """Raises ClientError, in the words of STS, if the service may not assume the role.

    A session with tags needs a second action.
    """
    for action in ("sts:AssumeRole", *(("sts:TagSession",) if tagged else ())):
        if not may_assume(role_arn, by, state, action):
            message = f"User: {by.principal} is not authorized to perform: {action} on resource: {role_arn}"
            raise refusal(message, "AssumeRole")


def refusal(message: str, operation: str) -> ClientError:
    """AccessDenied as botocore raises it."""
    answer: Any = {
        "Error": {"Code": "AccessDenied", "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": 403},
    }
    return ClientError(answer, operation)


def role_may(
    role_arn: str, action: str, resource: str, state: State, said: Mapping[str, tuple[str, ...]] | None = None
) -> bool:
    """Whether a role may do what a service does in its name without a call of its own, such as writing logs."""
    role = _role(role_arn)
    if role is None:
        return False
    session = Caller(
        arn=role.arn, name=role.name, role=role.arn, policies=tuple(_policies(role)), boundary=_boundary(role)
    )
    return may(session, action, resource, state, said)


def note_roles() -> None:
    """Records all statements of every role's own policies, so that a test can find those that nothing needed."""
    for role in list(iam_backends[ACCOUNT][PARTITION].roles.values()):
        RECORD.standing |= {(role.name, f"trust {each}") for each in _trusted(role)}
        for policy in _own_policies(role):
            for statement in policy.statements():
                condition = json.dumps(statement.condition) if statement.condition else ""
                for action in statement.written:
                    for resource in statement.resources or ("*",):
                        RECORD.standing.add((role.name, line(statement.allows, action, resource, condition)))


def _trusted(role: Role) -> Iterator[str]:
    """The services that may assume a role."""
    for statement in Policy(role.name, role.assume_role_policy_document).statements():
        yield from (statement.principals or {}).get("Service", ())


def enforce(state: State, refused: Refused = lambda *_: None) -> None:
    """Judges each moto action before it is carried out. Calling it again changes nothing.

    For every call that may be made, it asks `refused` whether AWS answers with an error instead, by access key, service
    and operation.
    """

    def authorize(response: Any, _request: type, resource: str = "*") -> None:
        _authorize(response, resource, state)
        found = refused(response.access_key, signing_name(response), response._get_action())  # noqa: SLF001
        if found is not None:
            raise _answered(response, found.error, found.status)

    known = errors.COMMON_ERROR_CODES
    known.extend(code for code in {*_REFUSALS.values(), _REFUSAL, *CODES} if code not in known)
    ActionAuthenticatorMixin._authenticate_and_authorize_action = authorize  # type: ignore[method-assign,assignment]  # noqa: SLF001 (moto's own seam)
    FakeBucket.get_permission = _of_bucket  # type: ignore[method-assign,assignment]


def _of_bucket(_bucket: FakeBucket, _action: str, _resource: str) -> PermissionResult:
    """moto checks again itself; the bucket's policy was judged together with the caller's."""
    return PermissionResult.NEUTRAL


def _authorize(response: Any, resource: str, state: State) -> None:
    key = access_key(response)
    known = holder(key)
    if known is None and key.startswith("ASIA"):
        RECORD.miss("a session that STS does not know")
    action = f"{signing_name(response)}:{response._get_action()}"  # noqa: SLF001 (moto's own seam)
    judged = known is not None and (known.restricted or action in _DENIED_BY_RESOURCES)
    if known is None or not (judged or ORGANISATION.policies):
        return
    call = call_of(response, resource)
    for each in asks(call, state) if ORGANISATION.policies else ():
        found = forbidden(ORGANISATION.policies, known.caller, each, state)
        if found is not None:
            raise _denied(response, f"User: {known.caller.arn} is not authorized to perform: {found.reason}")
    if not judged or call.action in _ALWAYS:
        return
    RECORD.judged += 1
    caller = known.caller if known.restricted else replace(known.caller, policies=(_EVERYTHING,))
    for each in asks(call, state):
        found = denial(caller, each, state)
        if found is not None:
            raise _denied(response, f"User: {known.caller.arn} is not authorized to perform: {found.reason}")


def session_of(access_key_id: str) -> str:
    """The ARN of the owner of a key; of the account for a key that AWS does not know."""
    known = holder(access_key_id)
    return known.caller.arn if known is not None else f"arn:{PARTITION}:iam::{ACCOUNT}:root"


def refused_in(access_key_id: str, needed: Iterable[Ask], state: State) -> str | None:
    """Why the owner of a key may not do what a service does with the owner's rights inside a call; None if it may.

    In AWS's words.
    """
    known = holder(access_key_id)
    if known is None or not known.restricted:
        return None
    for each in needed:
        found = denial(known.caller, each, state)
        if found is not None:
            return f"User: {known.caller.arn} is not authorized to perform: {found.reason}"
    return None


def access_key(response: Any) -> str:
    """The key that signed a call, also if the signature is in the address; empty for an unsigned call."""
    linked = parse_qs(urlsplit(response.uri).query).get("X-Amz-Credential")
    return linked[0].partition("/")[0] if linked else str(response.access_key or "")


def _denied(response: Any, reason: str) -> HTTPException:
    service = signing_name(response)
    protocol = response.determine_response_protocol(get_service_model(response.boto3_service_name))
    code = _REFUSALS.get(service) or _REFUSALS.get(protocol, _REFUSAL)
    if service == "ec2":
        reason = f"You are not authorized to perform this operation. {reason}"
    return _answered(response, AwsError(code, reason), 403)


def _answered(response: Any, error: AwsError, status: int) -> HTTPException:
    """The error in the form of the service's protocol."""
    _, headers, body = response.serialized(ActionResult(error))
    response.response_headers.update(headers)
    answer = HTTPException(body, Response(body, status, headers))
    answer.code = status
    return answer
