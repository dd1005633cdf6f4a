"""Choice rules of the Amazon States Language: which rule of a Choice state matches the data."""

import operator
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.paths import present, read

Json = Any

_COMPARISONS: dict[str, Callable[[Json, Json], bool]] = {
    "Equals": operator.eq,
    "LessThan": operator.lt,
    "GreaterThan": operator.gt,
    "LessThanEquals": operator.le,
    "GreaterThanEquals": operator.ge,
}
_COMPARISON = re.compile(
    r"(String|Numeric|Timestamp|Boolean)(Equals|LessThan|GreaterThan|LessThanEquals|GreaterThanEquals)(Path)?"
)


def holds(rule: Json, data: Json, context: Json) -> bool:
    """Whether a choice rule holds. A missing variable raises States.Runtime, as on AWS."""
    if "And" in rule:
        return all(holds(inner, data, context) for inner in rule["And"])
    if "Or" in rule:
        return any(holds(inner, data, context) for inner in rule["Or"])
    if "Not" in rule:
        return not holds(rule["Not"], data, context)
    return _tested(rule, data, context)


def _tested(rule: Json, data: Json, context: Json) -> bool:
    variable = rule["Variable"]
    test = next(key for key in rule if key not in ("Variable", "Next", "Comment", "Assign", "Output"))
    if test == "IsPresent":
        return present(variable, data, context) is rule[test]
    value = read(variable, data, context)
    if test.startswith("Is"):
        return _is(test, value) is rule[test]
    if test == "StringMatches":
        return isinstance(value, str) and _matches(rule[test], value)
    return _compared(test, rule[test], value, data, context)


def _compared(test: str, expected: Json, value: Json, data: Json, context: Json) -> bool:
    parts = _COMPARISON.fullmatch(test)
    if parts is None:
        raise StatesError("States.Runtime", f"there is no choice rule '{test}'")
    kind, comparison, path = parts.groups()
    if path:
        expected = read(expected, data, context)
    left, right = _typed(kind, value), _typed(kind, expected)
    if left is None or right is None:
        return False
    return _COMPARISONS[comparison](left, right)


def _typed(kind: str, value: Json) -> Json:
    """The value in the type of the rule; None if it is of another type."""
    if kind == "String":
        return value if isinstance(value, str) else None
    if kind == "Boolean":
        return value if isinstance(value, bool) else None
    if kind == "Numeric":
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    return _instant(value)


def _instant(value: Json) -> datetime | None:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*", value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _is(test: str, value: Json) -> bool:
    kind = test.removeprefix("Is")
    if kind == "Null":
        return value is None
    return _typed(kind, value) is not None


def _matches(pattern: str, value: str) -> bool:
    parts = re.split(r"(\\.|\*)", pattern)
    wild = "".join(".*" if part == "*" else re.escape(part.removeprefix("\\")) for part in parts)
    return re.fullmatch(wild, value, re.DOTALL) is not None
