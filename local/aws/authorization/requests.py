"""What a call to AWS asks of IAM: actions on resources, with the values for conditions.

Most calls need the action of their own name on the resources that they name. Some need more actions, or other ones.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

import xmltodict  # type: ignore[import-untyped]
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import determine_request_protocol
from moto.core.utils import get_service_model

from local.aws.authorization import launches, reference
from local.aws.authorization.conditions import Unknown
from local.aws.authorization.patterns import PARTS
from local.aws.authorization.resources import resources, table_name
from local.aws.authorization.state import State

Members = Mapping[str, Any]
Values = tuple[str, ...]

#: Services and actions that IAM names differently from their endpoints.
_SERVICES = {"monitoring": "cloudwatch", "tagging": "tag", "email": "ses", "dynamodbstreams": "dynamodb"}
_ACTIONS = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "lambda:InvokeAsync": "lambda:InvokeFunction",
    "s3:HeadObject": "s3:GetObject",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:ListObjects": "s3:ListBucket",
    "s3:ListObjectsV2": "s3:ListBucket",
}
#: A transaction is no action of IAM. Each of its parts is judged as its own write or read.
_PARTS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Get": "dynamodb:GetItem",
}
#: Calls that pass a role to a service: where the role is in the call, and which service gets it.
_PASSING = {
    "eks:CreateCluster": (("roleArn",), "eks.amazonaws.com"),
    "eks:CreateNodegroup": (("nodeRole",), "eks.amazonaws.com"),
    "events:PutTargets": (("Targets", "RoleArn"), "events.amazonaws.com"),
    "iam:AddRoleToInstanceProfile": (("RoleName",), launches.EC2),
    "lambda:CreateFunction": (("Role",), "lambda.amazonaws.com"),
    "lambda:UpdateFunctionConfiguration": (("Role",), "lambda.amazonaws.com"),
    "scheduler:CreateSchedule": (("Target", "RoleArn"), "scheduler.amazonaws.com"),
    "scheduler:UpdateSchedule": (("Target", "RoleArn"), "scheduler.amazonaws.com"),
    "states:CreateStateMachine": (("roleArn",), "states.amazonaws.com"),
    "states:UpdateStateMachine": (("roleArn",), "states.amazonaws.com"),
}

#: Condition keys of EKS that say what a call switches: where it is in the call.
_SWITCHED = {
    "eks:blockstorageenabled": ("storageConfig", "blockStorage", "enabled"),
    "eks:computeconfigenabled": ("computeConfig", "enabled"),
    "eks:elasticloadbalancingenabled": ("kubernetesNetworkConfig", "elasticLoadBalancing", "enabled"),
}


@dataclass(frozen=True)
class Ask:
    """An action, as AWS writes it, on resources: `("*",)` if it takes none.

    `said` are condition values by key in lower case. An empty value means that the call could have the key and does not
    have it. `gaps` are facts that the embedded cloud cannot tell of the call.
    """

    action: str
    resources: tuple[str, ...]
    said: Mapping[str, Values] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A call as it came: the name that signed it, and its operation."""

    service: str
    operation: str
    members: Members

    @property
    def action(self) -> str:
        name = f"{_SERVICES.get(self.service, self.service)}:{self.operation}"
        return _ACTIONS.get(name, name)


def asks(call: Call, state: State) -> Iterator[Ask]:
    """Everything that a call needs permission for; all of it must be allowed."""
    several = _several(call, state)
    if several is not None:
        yield from several
        return
    yield ask(call.action, call.members, state)
    where, service = _PASSING.get(call.action, ((), ""))
    for role in _at(call.members, where) if where else ():
        yield Ask("iam:PassRole", (state.role_arn(role),), {"iam:passedtoservice": (service,)})


def _several(call: Call, state: State) -> Iterator[Ask] | None:
    """The asks of a call that IAM judges in parts; None for any other."""
    if call.action.startswith("dynamodb:Transact"):
        return _transaction(call, state)
    if call.action in _IN_PARTS:
        return _IN_PARTS[call.action](call, state)
    if call.action in launches.LAUNCHES:
        needed = launches.needs(call.action, call.members, state)
        return (Ask(need.action, (need.resource,), need.said) for need in needed)
    if call.action == "s3:DeleteObject" and call.members["Keys"]:
        bucket = call.members["BucketAndKey"]
        keys = call.members["Keys"]
        return (ask(call.action, {"BucketAndKey": f"{bucket}/{key}"}, state) for key in keys)
    return None


def _transaction(call: Call, state: State) -> Iterator[Ask]:
    for item in call.members.get("TransactItems") or []:
        for part, members in item.items():
            yield ask(_PARTS[part], members, state)


def _redrive(call: Call, state: State) -> Iterator[Ask]:
    """SQS receives, deletes and sends as the caller.

    Source: SQS developer guide, "Configuring queue permissions for dead-letter queue redrive".
    """
    source, given = call.members["SourceArn"], call.members.get("DestinationArn")
    for operation in ("StartMessageMoveTask", "ReceiveMessage", "DeleteMessage", "GetQueueAttributes"):
        yield Ask(f"sqs:{operation}", (source,))
    for destination in [given] if given else state.sources_of_dead_letters(source):
        yield Ask("sqs:SendMessage", (destination,))


def _batch(call: Call, state: State) -> Iterator[Ask]:
    for table, requests in (call.members.get("RequestItems") or {}).items():
        yield ask(call.action, {"TableName": table, "Requests": requests}, state)


def ask(action: str, members: Members, state: State) -> Ask:
    """One action with its resources."""
    known = reference.action(action)
    if known is None:
        return Ask(action, ("*",), gaps=(f"{action}: the Service Authorization Reference does not have it",))
    switched = {key: _switched(members, where) for key, where in _SWITCHED.items() if key in known.keys}
    gaps: list[str] = []
    said = {**dict(_tags_asked_for(members)), **switched}
    if action.startswith("dynamodb:") and "dynamodb:leadingkeys" in known.keys:
        try:
            said |= _leading_keys(members, state)
        except Unknown as unknown:
            gaps.append(f"{action}: {unknown}")
    if "iam:permissionsboundary" in known.keys and members.get("RoleName"):
        # The one that the call gives, or the one that the role has.
        boundary = members.get("PermissionsBoundary") or state.boundary(members["RoleName"])
        said["iam:permissionsboundary"] = (boundary,) if boundary else ()
    if not known.resources:
        return Ask(action, ("*",), said, tuple(gaps))
    found = resources(action, known.resources, members, state)
    if found is None and any(known.resources.values()):
        gaps.append(f"{action}: on which resource")
    return Ask(action, tuple(found or ("*",)), said, tuple(gaps))


def _switched(members: Any, where: tuple[str, ...]) -> Values:
    """`true` or `false`; empty for a call that does not say."""
    for part in where:
        members = members.get(part) if isinstance(members, Mapping) else None
    return () if members is None else (str(bool(members)).lower(),)


def _at(members: Any, path: tuple[str, ...]) -> Iterator[str]:
    if not path:
        if members:
            yield members
        return
    for each in members if isinstance(members, list) else [members]:
        if isinstance(each, Mapping) and each.get(path[0]):
            yield from _at(each[path[0]], path[1:])


def _tags_asked_for(members: Members) -> Iterator[tuple[str, Values]]:
    """The values of aws:RequestTag and aws:TagKeys."""
    given = members.get("Tags") or members.get("tags") or []
    if isinstance(given, Mapping):
        pairs = {str(key): str(value) for key, value in given.items()}
    else:
        pairs = {
            str(tag.get("Key") or tag.get("key")): str(tag.get("Value") or tag.get("value") or "")
            for tag in given
            if isinstance(tag, Mapping)
        }
    for key, value in pairs.items():
        yield f"aws:requesttag/{key.lower()}", (value,)
    if pairs:
        yield "aws:tagkeys", tuple(pairs)


def _entries(call: Call, state: State) -> Iterator[Ask]:
    """An ask for each entry of PutEvents, with its bus, source and type; then one for each bus with several entries.

    Both keys have several values (Service Authorization Reference, "Amazon EventBridge"; EventBridge user guide,
    "Using IAM policy conditions in Amazon EventBridge"). AWS documents no answer for several entries, so a policy must
    be right whether AWS judges them one by one or as one request.
    """
    entries = call.members.get("Entries") or []
    of_buses: dict[str, list[Members]] = {}
    for entry in entries:
        of_buses.setdefault(str(entry.get("EventBusName") or ""), []).append(entry)
    several = [group for group in of_buses.values() if len(group) > 1]
    for group in [*([entry] for entry in entries), *several]:
        found = ask(call.action, {"Entries": group[:1]}, state)
        said: dict[str, Values] = {
            f"events:{key}": tuple(dict.fromkeys(str(each[name]) for each in group if each.get(name)))
            for key, name in (("source", "Source"), ("detail-type", "DetailType"))
        }
        yield replace(found, said={**found.said, **said, "events:eventbusinvocation": ("false",)})


_IN_PARTS = {
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:BatchWriteItem": _batch,
    "events:PutEvents": _entries,
    "sqs:StartMessageMoveTask": _redrive,
}
_EQUAL = re.compile(r"([#\w.-]+)\s*=\s*(:\w+)")


def _leading_keys(members: Members, state: State) -> dict[str, Values]:
    """The partition keys of the items that a call reads or writes; a Scan has none.

    Source: DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control".
    """
    name = table_name(str(members.get("TableName") or ""))
    if not name:
        return {}
    key = state.hash_key(name)
    if "KeyConditionExpression" in members:
        if members.get("IndexName"):
            raise Unknown("the leading keys of an index")
        return {"dynamodb:leadingkeys": (_queried(members, key),)}
    items = [members[part] for part in ("Item", "Key") if part in members]
    items += _batched(members.get("Requests"))
    values = tuple(str(next(iter(item[key].values()))) for item in items if key in item)
    return {"dynamodb:leadingkeys": values} if values else {}


def _queried(members: Members, key: str) -> str:
    names, values = (
        members.get("ExpressionAttributeNames") or {},
        members.get("ExpressionAttributeValues") or {},
    )
    for name, value in _EQUAL.findall(members["KeyConditionExpression"]):
        if names.get(name, name) == key:
            return str(next(iter(values[value].values())))
    raise Unknown("the leading key of a query")


def _batched(requests: Any) -> list[Members]:
    if isinstance(requests, Mapping):
        return list(requests.get("Keys") or [])
    return [
        change.get("Item") or change.get("Key") or {}
        for request in requests or []
        for change in request.values()
    ]


def call_of(response: Any, resource: str) -> Call:
    """The call that moto is about to answer. For S3, moto gives its `resource`."""
    service = signing_name(response)
    operation = response._get_action()  # noqa: SLF001
    if service == "s3":
        # A key may hold colons too.
        named = resource.split(":", PARTS - 1)[-1].removeprefix("*")
        return Call(service, operation, {"BucketAndKey": named, "Keys": _keys_to_delete(response, operation)})
    members = _members(response, operation)
    if service == "sqs" and response.path.count("/") > 1:
        # A queue can also be named by the address of the call.
        members = {"QueueUrl": response.path, **members}
    return Call(service, operation, members)


def _keys_to_delete(response: Any, operation: str) -> list[str]:
    """The keys that a DeleteObjects call names. moto names such a call by the permission that it needs."""
    if operation != "DeleteObject" or not response.body:
        return []
    listed = xmltodict.parse(response.body, force_list=("Object",), strip_whitespace=False)
    return [each["Key"] for each in listed["Delete"].get("Object", [])]


def signing_name(response: Any) -> str:
    """The name that signed the call, in a header or in the address of a signed link; empty for an unsigned call."""
    signed = response.headers.get("Authorization", "").partition("Credential=")[2]
    scope: str = signed or unquote(response.uri).partition("X-Amz-Credential=")[2]
    _key, _day, _region, service, *_ = [*scope.split("/"), "", "", "", ""]
    return service


def _members(response: Any, operation: str) -> Members:
    if response.automated_parameter_parsing:
        return dict(response.params)
    model = get_service_model(response.boto3_service_name)
    protocol = determine_request_protocol(model, response.headers.get("Content-Type"))
    if protocol.startswith("rest"):
        return {unquote(name): unquote(str(value)) for name, value in response.uri_match.items()}
    if protocol.startswith("json"):
        found = json.loads(response.body or "{}")
        return found if isinstance(found, dict) else {}
    return _of_a_query(response, operation, model, protocol)


def _of_a_query(response: Any, operation: str, model: Any, protocol: str) -> Members:
    parser = PROTOCOL_PARSERS[protocol](model.operation_model(operation))
    values = {name: value[0] for name, value in response.querystring.items()}
    asked: Any = {
        "method": "POST",
        "values": values,
        "headers": {},
        "body": "",
        "url_path": "/",
        "url_params": {},
    }
    parsed: Members = parser.parse(asked)
    return parsed
