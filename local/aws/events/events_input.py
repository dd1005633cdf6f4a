"""The input that a rule's target gets: the event, a part of it, a constant, or the result of its transformer."""

import json
import re
from typing import Any

from local.aws.api.own_services import Document
from local.aws.stepfunctions.paths import present, read

_PIECE = re.compile(r'(?P<escape>\\.)|(?P<quote>")|<(?P<name>[\w.\-]+)>')


def payload(target: Document, event: Document, rule: tuple[str, str]) -> str:
    """The text to deliver; `rule` is the rule's name and ARN."""
    if "Input" in target:
        text: str = target["Input"]
        return text
    if "InputPath" in target:
        return json.dumps(_found(target["InputPath"], event))
    transformer = target.get("InputTransformer")
    if transformer:
        paths = transformer.get("InputPathsMap") or {}
        values = {name: _found(path, event) for name, path in paths.items()}
        values |= {
            "aws.events.rule-name": rule[0],
            "aws.events.rule-arn": rule[1],
            "aws.events.event": {key: value for key, value in event.items() if key != "detail"},
            "aws.events.event.json": event,
            "aws.events.event.ingestion-time": event["time"],
        }
        return _filled(transformer["InputTemplate"], values)
    # An event bus gets the detail; source and type are sent beside it.
    return json.dumps(event["detail"] if target["Arn"].split(":")[2] == "events" else event)


def _found(path: str, event: Document) -> Any:
    return read(path, event, {}) if present(path, event, {}) else None


def _filled(template: str, values: dict[str, Any]) -> str:
    """The template with its values: placeholders in quotes become text, others JSON, as in EventBridge."""
    quoted = False

    def replaced(piece: re.Match[str]) -> str:
        nonlocal quoted
        if piece["quote"]:
            quoted = not quoted
        if not piece["name"] or piece["name"] not in values:
            return piece[0]
        value = values[piece["name"]]
        if not quoted:
            return json.dumps(value)
        text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
        return json.dumps(text)[1:-1]

    return _PIECE.sub(replaced, template)
