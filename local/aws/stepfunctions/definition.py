"""What Step Functions refuses in the definition of a state machine."""

import json
from collections.abc import Iterator
from typing import Any

from local.aws.api.own_services import AwsError, Document

Json = Any

KINDS = ("Task", "Pass", "Choice", "Wait", "Succeed", "Fail", "Parallel", "Map")
TERMINAL = ("Choice", "Succeed", "Fail")


def parsed(text: str) -> Document:
    """The definition. Raises InvalidDefinition with every problem."""
    try:
        definition: Document = json.loads(text)
    except ValueError as error:
        raise AwsError(
            "InvalidDefinition", f"Invalid State Machine Definition: 'INVALID_JSON: {error}'"
        ) from error
    problems = list(problems_of(definition))
    if problems:
        listed = ", ".join(f"'SCHEMA_VALIDATION_FAILED: {problem}'" for problem in problems)
        raise AwsError("InvalidDefinition", f"Invalid State Machine Definition: {listed}")
    return definition


def problems_of(definition: Json, where: str = "") -> Iterator[str]:
    """Every problem, with its place."""
    if not isinstance(definition, dict) or not isinstance(definition.get("States"), dict):
        yield f"The definition needs States at {where or '/'}"
        return
    if definition.get("QueryLanguage", "JSONPath") != "JSONPath":
        yield f"The embedded cloud runs JSONPath definitions only, at {where or '/'}"
    states = definition["States"]
    if definition.get("StartAt") not in states:
        yield f"MISSING_TRANSITION_TARGET: Missing 'Next' target: {definition.get('StartAt')} at {where}/StartAt"
    for name, state in states.items():
        yield from _problems_of_state(state, states, f"{where}/States/{name}")


def _problems_of_state(state: Json, states: Json, where: str) -> Iterator[str]:
    kind = state.get("Type")
    if kind not in KINDS:
        yield f"Type must be one of {', '.join(KINDS)} at {where}/Type"
        return
    if state.get("QueryLanguage", "JSONPath") != "JSONPath" or "Arguments" in state:
        yield f"The embedded cloud runs JSONPath states only, at {where}"
    if kind not in TERMINAL and ("Next" in state) == bool(state.get("End")):
        yield f"Exactly one of Next and End is needed at {where}"
    yield from _missing_targets(state, states, where)
    yield from _problems_of_kind(kind, state, where)
    for number, catcher in enumerate([*state.get("Retry", []), *state.get("Catch", [])]):
        names = catcher.get("ErrorEquals")
        if not names or ("States.ALL" in names and len(names) > 1):
            yield f"ErrorEquals needs names, and States.ALL stands alone, at {where} ({number})"
    for number, branch in enumerate(state.get("Branches", [])):
        yield from problems_of(branch, f"{where}/Branches[{number}]")


def _missing_targets(state: Json, states: Json, where: str) -> Iterator[str]:
    targets = [state.get("Next"), state.get("Default")]
    targets += [catcher.get("Next") for catcher in state.get("Catch", [])]
    targets += [rule.get("Next") for rule in state.get("Choices", [])]
    for target in targets:
        if target is not None and target not in states:
            yield f"MISSING_TRANSITION_TARGET: Missing 'Next' target: {target} at {where}"


def _problems_of_kind(kind: str, state: Json, where: str) -> Iterator[str]:
    if kind == "Task" and not str(state.get("Resource", "")).startswith("arn:"):
        yield f"Value is not a valid resource ARN at {where}/Resource"
    if kind == "Choice" and not state.get("Choices"):
        yield f"Choices must not be empty at {where}/Choices"
    if (
        kind == "Wait"
        and sum(key in state for key in ("Seconds", "SecondsPath", "Timestamp", "TimestampPath")) != 1
    ):
        yield f"Exactly one of Seconds, SecondsPath, Timestamp and TimestampPath is needed at {where}"
    if kind == "Map":
        yield from problems_of(state.get("ItemProcessor") or state.get("Iterator"), f"{where}/ItemProcessor")
