"""Whether policies allow what a call asks for.

An explicit denial anywhere decides. Without one, the caller's policies must allow the call within their boundary, or
the resource's policy must name the caller. Not judged, because the lab has none: policies of an organisation, of a
session and of a VPC endpoint, and other accounts.

Source: IAM user guide, "Policy evaluation logic".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from local.aws.authorization import reference
from local.aws.authorization.conditions import Unknown, met
from local.aws.authorization.record import RECORD, line
from local.aws.authorization.requests import Ask
from local.aws.authorization.state import State
from local.aws.authorization.statements import Policy, Statement

#: Keys that every call has by IAM's user guide, "AWS global condition context keys", but that calls of the lab never
#: have: no federation, no endpoints, no chain of services.
_NEVER = frozenset(
    f"aws:{key}"
    for key in (
        "calledvia",
        "calledviafirst",
        "calledvialast",
        "federatedprovider",
        "multifactorauthage",
        "multifactorauthpresent",
        "principalorgid",
        "principalorgpaths",
        "referer",
        "sourceidentity",
        "sourceorgid",
        "sourceorgpaths",
        "sourcevpc",
        "sourcevpcarn",
        "sourcevpce",
        "vpcsourceip",
    )
)
#: Keys of a service that the embedded cloud can tell of each call, by the resource.
_TOLD: dict[str, Callable[[State, str], str | None]] = {
    "ec2:instancetype": lambda state, resource: state.instance_type(resource),
    "ec2:region": lambda state, _: state.region,
    "s3:tlsversion": lambda _, __: "1.3",
}
#: A client states these about itself, and the embedded cloud does not pass them on.
_NOT_READ = frozenset(
    {"aws:sourceip", "aws:useragent", "aws:ec2instancesourcevpc", "aws:ec2instancesourceprivateipv4"}
)


@dataclass(frozen=True)
class Caller:
    """The caller: a role's session or a user (`policies`, and a `boundary` if it has one), or a service in its own
    name.

    For a service (`service`), only policies of resources can allow a call.
    """

    arn: str
    name: str = ""
    """The name of the role or user."""
    role: str = ""
    """The role's ARN, if the caller is a session of a role."""
    user_id: str = ""
    policies: tuple[Policy, ...] = ()
    boundary: Policy | None = None
    service: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    """What a service states about the resource for which it calls: `aws:sourcearn`, `aws:sourceaccount`, and the tags
    that it asks a role's session to have: `aws:requesttag/…`."""


@dataclass(frozen=True)
class Denial:
    """A denial in AWS's words, from `is not authorized` on."""

    action: str
    reason: str


class _Request:
    """The condition values of one ask on one resource."""

    def __init__(self, caller: Caller, ask: Ask, resource: str, state: State) -> None:
        self._caller = caller
        self._ask = ask
        self._resource = resource
        self._state = state

    def values(self, key: str) -> tuple[str, ...] | None:
        name = key.lower()
        if name in self._ask.said:
            return self._ask.said[name] or None
        kind, slash, tag = key.partition("/")
        if slash and kind.lower().endswith(":resourcetag"):
            return self._tag(kind.lower(), tag)
        if name.startswith("aws:"):
            return self._global(name, tag)
        known = reference.action(self._ask.action)
        if name in _TOLD:
            found = _TOLD[name](self._state, self._resource)
            return None if found is None else (found,)
        if known is not None and reference.has_key(known, name) and name not in _ABSENT:
            raise Unknown(f"the condition key {key}")
        return None

    def variable(self, key: str) -> str | None:
        found = self.values(key)
        return found[0] if found is not None and len(found) == 1 else None

    def _tag(self, kind: str, tag: str) -> tuple[str, ...] | None:
        known = reference.action(self._ask.action)
        if self._resource == "*" or (known is not None and not reference.has_key(known, f"{kind}/")):
            return None
        found = self._state.tags(self._resource).get(tag)
        return None if found is None else (found,)

    def _global(self, name: str, tag: str) -> tuple[str, ...] | None:
        caller, state = self._caller, self._state
        if name.startswith("aws:requesttag/") and name in caller.source:
            return (caller.source[name],)
        if name.startswith("aws:requesttag/") or name == "aws:tagkeys" or name in _NEVER:
            return None
        if name.startswith("aws:principaltag/"):
            found = caller.tags.get(tag)
            return None if found is None else (found,)
        if name in {"aws:sourcearn", "aws:sourceaccount", "aws:sourceowner"}:
            said = caller.source.get(name)
            return None if said is None else (said,)
        now = state.now()
        values = {
            "aws:currenttime": str(now),
            "aws:epochtime": str(now),
            "aws:principalaccount": "" if caller.service else state.account,
            "aws:principalarn": caller.role or ("" if caller.service else caller.arn),
            "aws:principalisawsservice": "true" if caller.service else "false",
            "aws:principalservicename": caller.service,
            "aws:principaltype": "" if caller.service else "AssumedRole" if caller.role else "User",
            "aws:requestedregion": state.region,
            "aws:resourceaccount": state.account,
            # Every SDK uses TLS with AWS; the endpoint on this machine has no TLS.
            "aws:securetransport": "true",
            "aws:userid": caller.user_id,
            "aws:username": "" if caller.role else caller.name,
            "aws:viaawsservice": "false",
        }
        if name in values:
            return (values[name],) if values[name] else None
        if name in _NOT_READ:
            raise Unknown(f"the condition key {name}")
        raise Unknown(f"the condition key {name}, which IAM's user guide may have since")


#: Keys of the actions in use that a call has only in cases that the lab does not have.
_ABSENT = frozenset(
    {"lambda:eventsourcetoken", "lambda:invokedviafunctionurl", "events:managedby", "events:creatoraccount"}
)


def denial(caller: Caller, ask: Ask, state: State) -> Denial | None:
    """The reason for a denial; None if the call is allowed."""
    for gap in ask.gaps:
        RECORD.miss(gap)
    for resource in ask.resources:
        # If the embedded cloud cannot tell the resource, it judges the action alone, and counts this.
        anything = "on which resource" in " ".join(ask.gaps) or "does not have it" in " ".join(ask.gaps)
        found = _denial(caller, ask, resource, state, anything)
        if found is not None:
            RECORD.deny(f"{caller.name or caller.service}: {found.action} on {resource}")
            return found
    return None


def forbidden(policies: Iterable[Policy], caller: Caller, ask: Ask, state: State) -> Denial | None:
    """A denial by a policy of the organisation, which no policy of the account lifts."""
    for resource in ask.resources:
        request = _Request(caller, ask, resource, state)
        if any(not each.allows for each in _decisive(policies, request, ask, resource, "organisation")):
            words = ask.action if resource == "*" else f"{_worded(ask.action)} on resource: {resource}"
            return Denial(ask.action, f"{words} with an explicit deny in a service control policy")
    return None


def _denial(caller: Caller, ask: Ask, resource: str, state: State, anything: bool) -> Denial | None:
    request = _Request(caller, ask, resource, state)
    own = list(_decisive(caller.policies, request, ask, resource, caller.name, anything=anything))
    action = _worded(ask.action)
    place = f'"{resource}"' if action.startswith("s3:") else resource
    words = action if resource == "*" else f"{action} on resource: {place}"
    if any(not statement.allows for statement in own):
        return Denial(ask.action, f"{words} with an explicit deny in an identity-based policy")
    of_resource = list(_of_the_resource(caller, request, ask, resource, state))
    if any(not statement.allows for statement, _ in of_resource):
        return Denial(ask.action, f"{words} with an explicit deny in a resource-based policy")
    if caller.boundary is not None:
        bounds = list(_decisive((caller.boundary,), request, ask, resource, caller.name, anything=anything))
        if any(not statement.allows for statement in bounds):
            return Denial(ask.action, f"{words} with an explicit deny in a permissions boundary")
        if not bounds:
            return Denial(ask.action, f"{words} because no permissions boundary allows the {action} action")
    if own or any(named for _, named in of_resource):
        return None
    kind = "resource" if caller.service else "identity"
    return Denial(ask.action, f"{words} because no {kind}-based policy allows the {action} action")


def _decisive(
    policies: Iterable[Policy],
    request: _Request,
    ask: Ask,
    resource: str,
    holder: str,
    *,
    anything: bool = False,
) -> Iterator[Statement]:
    """The statements about the ask whose conditions are met."""
    action = ask.action.lower()
    for policy in policies:
        for statement in policy.about(action):
            covered = "*" if anything else statement.covering(resource, request.variable)
            if covered is not None and _met(statement, request, ask.action):
                RECORD.exercise(holder, _word(statement, ask.action, covered))
                yield statement


def _worded(action: str) -> str:
    """The action as the service writes it in a refusal."""
    service, _, name = action.partition(":")
    return {"sns": f"SNS:{name}", "sqs": f"sqs:{name.lower()}"}.get(service, action)


def _word(statement: Statement, action: str, covered: str) -> str:
    named = action.lower() in statement.actions
    written = action if named else next((each for each in statement.written if "*" in each), "*")
    return line(statement.allows, written, covered, dumps(statement.condition) if statement.condition else "")


def _met(statement: Statement, request: _Request, action: str) -> bool:
    """Whether the conditions are met. An unknown value counts against the caller, and is recorded."""
    if not statement.condition:
        return True
    try:
        return met(statement.condition, request)
    except Unknown as unknown:
        RECORD.miss(f"{action}: {unknown}")
        return not statement.allows


def _of_the_resource(
    caller: Caller, request: _Request, ask: Ask, resource: str, state: State
) -> Iterator[tuple[Statement, bool]]:
    """The statements of the resource's policy about the ask, and whether each allows this very caller."""
    document = None if resource == "*" else state.policy(resource)
    if not document:
        return
    policy = Policy(resource, document if isinstance(document, str) else dumps(document))
    for statement in policy.about(ask.action.lower()):
        named = _named(statement, caller, state.account)
        # An allow for the account leaves the decision to the account's own policies. A deny for the account denies
        # everybody in it.
        counts = named == "caller" or (named == "account" and not statement.allows)
        covered = statement.covering(resource, request.variable)
        if counts and covered is not None and _met(statement, request, ask.action):
            RECORD.exercise(resource, _word(statement, ask.action, covered))
            yield statement, True


def _named(statement: Statement, caller: Caller, account: str) -> str:
    """What the statement names: the `caller`, only the caller's `account`, or neither (``)."""
    found = _names(statement.principals or {}, caller, account)
    if statement.all_but_principals:
        return "" if found else "caller"
    return found


def _names(principals: Mapping[str, tuple[str, ...]], caller: Caller, account: str) -> str:
    if "*" in principals or "*" in principals.get("AWS", ()):
        return "caller"
    if caller.service:
        return "caller" if caller.service in principals.get("Service", ()) else ""
    named = principals.get("AWS", ())
    if caller.arn in named or (caller.role and caller.role in named):
        return "caller"
    return "account" if account in named or f"arn:aws:iam::{account}:root" in named else ""


def trusts(
    role: str, trust: str | Mapping[str, Any], caller: Caller, state: State, action: str = "sts:AssumeRole"
) -> bool:
    """Whether a role's trust policy allows the action to the caller."""
    policy = Policy(role, trust if isinstance(trust, str) else dumps(trust))
    ask = Ask(action, (role,))
    request = _Request(caller, ask, role, state)
    holder = role.rpartition("/")[2]
    decisive = [
        statement
        for statement in policy.about(action.lower())
        if _named(statement, caller, state.account) == "caller" and _met(statement, request, ask.action)
    ]
    if decisive:
        RECORD.exercise(holder, f"trust {caller.service or caller.arn}")
    return bool(decisive) and all(statement.allows for statement in decisive)
