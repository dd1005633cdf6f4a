"""Buses, rules and targets of EventBridge: the behaviour and the refusals that moto lacks.

The policy of a bus stays as it was written, so that it can be evaluated. A bus with rules cannot be deleted. PutTargets
refuses targets that AWS refuses. Patterns are checked, and TestEventPattern tries them on events.

Sources: EventBridge API reference, PutPermission, DeleteEventBus, UpdateEventBus, ListEventBuses, PutRule, PutTargets
and TestEventPattern; user guide, "Amazon EventBridge quotas"; the sentences of the refusals as AWS gave them to the
tests of localstack (test_events.snapshot.json, test_events_patterns.snapshot.json) and to people who reported them.
"""

import json
from dataclasses import dataclass
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.events.exceptions import InvalidEventPatternException, ValidationException
from moto.events.models import EventBus, EventPattern, EventPatternParser, EventsBackend
from moto.events.responses import EventsHandler

from local.aws.api.own_services import Document
from local.aws.events import event_pattern

POLICY_BYTES = 10 * 1024
MOST_TARGETS = 5
#: Characters of a rule's pattern. AWS allows twice as many on request.
LONGEST_PATTERN = 2048
#: Services whose targets need a role.
_BY_ROLE = frozenset({"states"})
_OF_AN_EVENT = frozenset({"id", "account", "source", "time", "region", "resources", "detail-type"})
_SETTINGS = {
    "Description": "description",
    "KmsKeyIdentifier": "kms_key_identifier",
    "DeadLetterConfig": "dead_letter_config",
}

_put_targets = EventsBackend.put_targets
_delete_event_bus = EventsBackend.delete_event_bus


def install() -> None:
    """Put it into moto; idempotent."""
    for owner, name, ours in _OURS:
        setattr(owner, name, ours)


@dataclass(frozen=True)
class _Statement:
    """One statement of a bus's policy, as it was written."""

    document: Document

    def describe(self) -> Document:
        return self.document


def _put_policy(bus: EventBus, policy: str) -> None:
    """A whole policy replaces the present one."""
    try:
        document = json.loads(policy)
        statements = document["Statement"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValidationException("This policy contains invalid Json") from error
    listed = statements if isinstance(statements, list) else [statements]
    for statement in listed:
        _check_statement(statement)
    bus.add_policy({"Statement": listed})


def _check_statement(statement: Any) -> None:
    wanted = (
        ("Effect",),
        ("Principal", "NotPrincipal"),
        ("Action", "NotAction"),
        ("Resource", "NotResource"),
    )
    if not isinstance(statement, dict) or not all(
        any(name in statement for name in names) for names in wanted
    ):
        raise ValidationException("A statement needs Effect, Principal, Action and Resource.")


def _add_policy(bus: EventBus, policy: Document) -> None:
    statements = {
        str(statement.get("Sid") or number): _Statement(statement)
        for number, statement in enumerate(policy["Statement"])
    }
    _keep(bus, statements)


def _add_permission(
    bus: EventBus, statement_id: str, action: str, principal: Document, condition: Document | None
) -> None:
    named = "*" if ":*:" in principal["AWS"] else principal
    document = {
        "Sid": statement_id,
        "Effect": "Allow",
        "Principal": named,
        "Action": action,
        "Resource": bus.arn,
    }
    if condition:
        document["Condition"] = condition
    _keep(bus, {**bus._statements, statement_id: _Statement(document)})  # noqa: SLF001 (moto's own seam)


def _keep(bus: EventBus, statements: dict[str, Any]) -> None:
    text = json.dumps([each.describe() for each in statements.values()], separators=(",", ":"))
    if len(text.encode()) > POLICY_BYTES:
        raise JsonRESTError(
            "PolicyLengthExceededException", f"The event bus policy has more than {POLICY_BYTES} bytes."
        )
    bus._statements = statements  # noqa: SLF001 (moto's own seam)


def _deleted_bus(backend: EventsBackend, name: str) -> None:
    bus = backend.event_buses.get(name)
    if name != "default" and bus is not None and bus.rules:
        raise ValidationException("EventBus can't be deleted since it has rules.")
    _delete_event_bus(backend, name)


def _checked_targets(
    backend: EventsBackend, name: str, event_bus_arn: str | None, targets: list[Document]
) -> None:
    for target in targets:
        arn = str(target.get("Arn"))
        if arn.split(":")[2:3] and arn.split(":")[2] in _BY_ROLE and not target.get("RoleArn"):
            raise ValidationException(f"RoleArn is required for target {arn}.")
        if ":logs:" in arn and target.get("RoleArn"):
            raise ValidationException(f"RoleArn is not supported for target {arn}.")
    bus = backend.describe_event_bus(backend._normalize_event_bus_arn(event_bus_arn))  # noqa: SLF001
    rule = bus.rules.get(name)
    if rule is not None:
        ids = {target["Id"] for target in [*rule.targets, *targets]}
        if len(ids) > MOST_TARGETS:
            raise JsonRESTError(
                "LimitExceededException", "The requested resource exceeds the maximum number allowed."
            )
    _put_targets(backend, name, event_bus_arn, targets)


def _checked_pattern(parser: EventPatternParser, pattern: Any) -> None:
    if parser.pattern and len(parser.pattern) > LONGEST_PATTERN:
        raise JsonRESTError(
            "LimitExceededException", f"The event pattern has more than {LONGEST_PATTERN} characters."
        )
    if not parser.pattern:
        return
    try:
        event_pattern.check(pattern)
    except event_pattern.BadPattern as bad:
        raise InvalidEventPatternException(str(bad)) from bad


def _matches(pattern: EventPattern, event: Document) -> bool:
    return event_pattern.matches(pattern.get_pattern(), event)


def _test_event_pattern(handler: EventsHandler) -> str:
    pattern = EventPattern.load(handler._get_param("EventPattern"))  # noqa: SLF001 (as moto reads it)
    try:
        event = json.loads(handler._get_param("Event"))  # noqa: SLF001
    except (TypeError, ValueError):
        event = None
    if not isinstance(event, dict) or not event.keys() >= _OF_AN_EVENT:
        raise ValidationException("Parameter Event is not valid.")
    return json.dumps({"Result": pattern.matches_event(event)})  # type: ignore[arg-type]


def _list_event_buses(handler: EventsHandler) -> tuple[str, dict[str, Any]]:
    buses, token = handler.events_backend.list_event_buses(
        handler._get_param("NamePrefix"),  # noqa: SLF001
        next_token=handler._get_param("NextToken"),  # noqa: SLF001
        limit=handler._get_param("Limit"),  # noqa: SLF001
    )
    listed = [_described(bus) for bus in buses]
    answer = {"EventBuses": listed, **({"NextToken": token} if token else {})}
    return json.dumps(answer), handler.response_headers


def _described(bus: EventBus) -> Document:
    described = {
        "Name": bus.name,
        "Arn": bus.arn,
        "Description": bus.description,
        "Policy": bus.policy,
        "CreationTime": bus.creation_time,
        "LastModifiedTime": bus.last_modified_time,
    }
    return {key: value for key, value in described.items() if value}


def _update_event_bus(handler: EventsHandler) -> tuple[str, dict[str, Any]]:
    bus = handler.events_backend.describe_event_bus(handler._get_param("Name"))  # noqa: SLF001
    for member, attribute in _SETTINGS.items():
        value = handler._get_param(member)  # noqa: SLF001
        if value is not None:
            setattr(bus, attribute, value)
    answer = {"Arn": bus.arn, "Name": bus.name}
    answer |= {member: getattr(bus, name) for member, name in _SETTINGS.items() if getattr(bus, name)}
    return json.dumps(answer), handler.response_headers


#: The replacements: moto's class, the name, and ours.
_OURS: tuple[tuple[type, str, Any], ...] = (
    (EventBus, "add_policy", _add_policy),
    (EventBus, "add_permission", _add_permission),
    (EventsBackend, "_put_permission_from_policy", staticmethod(_put_policy)),
    (EventsBackend, "delete_event_bus", _deleted_bus),
    (EventsBackend, "put_targets", _checked_targets),
    (EventPatternParser, "_validate_event_pattern", _checked_pattern),
    (EventPattern, "matches_event", _matches),
    (EventsHandler, "test_event_pattern", _test_event_pattern),
    (EventsHandler, "list_event_buses", _list_event_buses),
    (EventsHandler, "update_event_bus", _update_event_bus),
)
