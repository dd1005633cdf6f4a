"""The JSON Schema of lab files, by which editors complete and check them; made from the model."""

from pydantic import JsonValue

from lamplighter.lab.model import Lab

SAID = ("description", "unit", "change", "default", "examples")
SCHEMA = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, JsonValue]:
    """The schema of lab.yaml. null is allowed wherever a key may be left out, since it means the same."""
    made: dict[str, JsonValue] = Lab.model_json_schema(by_alias=True, mode="validation")
    parts = made.get("$defs")
    for part in (made, *(parts.values() if isinstance(parts, dict) else ())):
        _allow_null(part)
    return {"$schema": SCHEMA, **made, "title": "The lab of Lamplighter"}


def _allow_null(part: JsonValue) -> None:
    if not isinstance(part, dict) or not isinstance(properties := part.get("properties"), dict):
        return
    required = part.get("required")
    for name, rule in properties.items():
        if not isinstance(rule, dict) or (isinstance(required, list) and name in required):
            continue
        said: dict[str, JsonValue] = {key: rule[key] for key in SAID if key in rule}
        choices = rule.get("anyOf")
        if not isinstance(choices, list):
            choices = [{key: value for key, value in rule.items() if key not in said and key != "title"}]
        if {"type": "null"} not in choices:
            choices.append({"type": "null"})
        properties[name] = {**said, "anyOf": choices}
