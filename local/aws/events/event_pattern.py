"""The language of event patterns: the patterns that AWS accepts, and the events that they match.

Rules of EventBridge, TestEventPattern and the filters of Lambda's event source mappings use it. A pattern names fields.
The list of a field has its allowed values. AWS refuses an unknown comparison, and so does this file.

Sources: EventBridge user guide, "Creating Amazon EventBridge event patterns" and "Comparison operators for use in
event patterns"; Lambda developer guide, "Control which events Lambda sends to your function". The sentences of the
refusals are those that AWS gives, as recorded by the tests of localstack.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

#: Any JSON value.
Json = Any
#: Whether the values of a field fit. A missing field has no values.
_Test = Callable[[list[Json]], bool]

_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}
#: A sign and a number for one bound, or for two.
_BOUNDS = (2, 4)
_CASELESS = "equals-ignore-case"
_ALTERNATIVES = "$or"


class BadPattern(ValueError):
    """AWS refuses the pattern. The text is AWS's reason."""


def check(pattern: Json) -> None:
    """Raises BadPattern if AWS refuses the pattern."""
    if not isinstance(pattern, Mapping):
        raise BadPattern("Filter is not an object")
    for key, wanted in pattern.items():
        if _is_choice(key, wanted):
            for alternative in wanted:
                check(alternative)
        elif isinstance(wanted, Mapping):
            if not wanted:
                raise BadPattern("Empty objects are not allowed")
            check(wanted)
        elif not isinstance(wanted, list):
            raise BadPattern(f'"{key}" must be an object or an array')
        elif not wanted:
            raise BadPattern("Empty arrays are not allowed")
        else:
            for one in wanted:
                _test(one)


def matches(pattern: Mapping[str, Json], event: Json) -> bool:
    """Whether the event has, under each key of the pattern, one of the listed values.

    A list in the event fits if one of its elements fits. All keys of an object must fit the same element. A dot in a
    key is a step into an object, in patterns and in events.
    """
    if isinstance(event, list):
        return any(matches(pattern, element) for element in event)
    fields = _stepwise(event) if isinstance(event, Mapping) else {}
    return all(_fits(key, wanted, fields) for key, wanted in _stepwise(pattern).items())


def _stepwise(level: Mapping[str, Json]) -> Mapping[str, Json]:
    """One level of a document, where `a.b` is `b` in the object `a`."""
    if not any("." in key for key in level):
        return level
    spread: dict[str, Json] = {}
    for key, value in level.items():
        first, dot, rest = key.partition(".")
        inner = {rest: value} if dot else value
        if first not in spread:
            spread[first] = inner
        elif isinstance(spread[first], Mapping) and isinstance(inner, Mapping):
            spread[first] = {**spread[first], **inner}
        else:
            spread[first] = [spread[first], inner]
    return spread


def _fits(key: str, wanted: Json, event: Mapping[str, Json]) -> bool:
    if _is_choice(key, wanted):
        return any(matches(alternative, event) for alternative in wanted)
    if isinstance(wanted, Mapping):
        return matches(wanted, event.get(key))
    values = list(_leaves(event[key])) if key in event else []
    return any(_test(one)(values) for one in wanted)


def _is_choice(key: str, wanted: Json) -> bool:
    """Whether the key is the choice `$or`, and not a field of this name."""
    several = isinstance(wanted, list) and len(wanted) > 1
    return key == _ALTERNATIVES and several and all(isinstance(one, Mapping) and one for one in wanted)


def _leaves(value: Json) -> Iterator[Json]:
    """The values that can be compared. An object is no such value, and an empty list has none."""
    left = [value]  # an event may be nested deeper than Python recurses
    while left:
        one = left.pop()
        if isinstance(one, list):
            left += reversed(one)
        elif not isinstance(one, Mapping):
            yield one


def _test(wanted: Json) -> _Test:
    """The test of one element of a pattern's list. Raises BadPattern if AWS does not know it."""
    if not isinstance(wanted, Mapping):
        return _any(lambda value: _same(value, wanted))
    if len(wanted) != 1:
        raise BadPattern("Only one key allowed in match expression")
    ((kind, operand),) = wanted.items()
    if kind == "exists":
        if not isinstance(operand, bool):
            raise BadPattern("exists match pattern must be either true or false.")
        return lambda values: bool(values) is operand
    if kind == "anything-but":
        return _anything_but(operand)
    make = _COMPARISONS.get(kind)
    if make is None:
        raise BadPattern(f"Unrecognized match type {kind}")
    return _any(make(operand))


def _any(holds: Callable[[Json], bool]) -> _Test:
    return lambda values: any(holds(value) for value in values)


def _same(value: Json, wanted: Json) -> bool:
    """JSON's values: `true` is not 1, and 300 is 300.0."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _anything_but(operand: Json) -> _Test:
    if isinstance(operand, Mapping):
        if len(operand) != 1:
            raise BadPattern("Only one key allowed in match expression")
        ((kind, inner),) = operand.items()
        if kind not in ("prefix", "suffix", _CASELESS, "wildcard"):
            raise BadPattern(f"Unsupported anything-but pattern: {kind}")
        holds = [_anything_but_text(kind, each) for each in (inner if isinstance(inner, list) else [inner])]
        return _any(lambda value: not any(one(value) for one in holds))
    listed = operand if isinstance(operand, list) else [operand]
    if not listed or any(not _is_number(each) and not isinstance(each, str) for each in listed):
        if isinstance(operand, list) and operand:
            raise BadPattern("Inside anything but list, start|null|boolean is not supported.")
        raise BadPattern("Value of anything-but must be an array or single string/number value.")
    if len({isinstance(each, str) for each in listed}) > 1:
        raise BadPattern(
            "Inside anything but list, either all values are number or string, mixed type is not supported"
        )
    return _any(lambda value: not any(_same(value, each) for each in listed))


def _anything_but_text(kind: str, operand: Json) -> Callable[[Json], bool]:
    affix = kind in ("prefix", "suffix")
    if kind == _CASELESS and not isinstance(operand, str):
        raise BadPattern(
            "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."
        )
    if affix and not isinstance(operand, str):
        raise BadPattern("prefix/suffix match pattern must be a string")
    if affix and not operand:
        raise BadPattern("Null prefix/suffix not allowed")
    return _COMPARISONS[kind](operand)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _affix(kind: str) -> Callable[[Json], Callable[[Json], bool]]:
    """A prefix or a suffix, with or without its case."""

    def make(operand: Json) -> Callable[[Json], bool]:
        caseless = isinstance(operand, Mapping) and set(operand) == {_CASELESS}
        text = operand[_CASELESS] if caseless else operand
        if not isinstance(text, str):
            raise BadPattern(f"{kind} match pattern must be a string")

        def holds(value: Json) -> bool:
            if not isinstance(value, str):
                return False
            given, wanted = (value.casefold(), text.casefold()) if caseless else (value, text)
            return given.startswith(wanted) if kind == "prefix" else given.endswith(wanted)

        return holds

    return make


def _caseless(operand: Json) -> Callable[[Json], bool]:
    if not isinstance(operand, str):
        raise BadPattern("equals-ignore-case match pattern must be a string")
    return lambda value: isinstance(value, str) and value.casefold() == operand.casefold()


def _numeric(operand: Json) -> Callable[[Json], bool]:
    if not isinstance(operand, list):
        raise BadPattern("Value of numeric must be an array.")
    if len(operand) not in _BOUNDS:
        raise BadPattern("Bad numeric range, one or two comparisons required")
    pairs = list(zip(operand[::2], operand[1::2], strict=True))
    for sign, bound in pairs:
        if sign not in _ORDERS:
            raise BadPattern(f"Unrecognized numeric range operator: {sign}")
        if not _is_number(bound):
            raise BadPattern(f"Value of {'equals' if sign == '=' else sign} must be numeric")
    if len(pairs) > 1 and (pairs[0][0] not in (">", ">=") or pairs[1][0] not in ("<", "<=")):
        raise BadPattern(f"Bad numeric range operator: {pairs[1][0]}")
    return lambda value: _is_number(value) and all(_ORDERS[sign](value, bound) for sign, bound in pairs)


def _cidr(operand: Json) -> Callable[[Json], bool]:
    if not isinstance(operand, str) or operand.count("/") != 1:
        raise BadPattern("Malformed CIDR, one '/' required")
    address, _, bits = operand.partition("/")
    if not bits.isdecimal():
        raise BadPattern("Malformed CIDR, mask bits must be an integer")
    try:
        network = ip_network(operand, strict=False)
    except ValueError as error:
        raise BadPattern(f"Nonstandard IP address: {address}") from error

    def holds(value: Json) -> bool:
        try:
            return isinstance(value, str) and ip_address(value) in network
        except ValueError:
            return False

    return holds


def _wildcard(operand: Json) -> Callable[[Json], bool]:
    if not isinstance(operand, str):
        raise BadPattern("wildcard match pattern must be a string")
    expression = _compiled(operand)
    return lambda value: isinstance(value, str) and expression.fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`*` stands for any characters. A backslash escapes it and itself."""
    parts: list[str] = []
    place, starred = 0, False
    while place < len(pattern):
        letter = pattern[place]
        escaped = letter == "\\"
        if escaped:
            place += 1
            letter = pattern[place : place + 1]
            if letter not in ("*", "\\"):
                raise BadPattern(f"Invalid escape character at pos {place}")
        star = letter == "*" and not escaped
        if star and starred:
            raise BadPattern(f"Consecutive wildcard characters at pos {place}")
        parts.append(".*" if star else re.escape(letter))
        starred = star
        place += 1
    return re.compile("".join(parts), re.DOTALL)


_COMPARISONS: dict[str, Callable[[Json], Callable[[Json], bool]]] = {
    "prefix": _affix("prefix"),
    "suffix": _affix("suffix"),
    _CASELESS: _caseless,
    "numeric": _numeric,
    "cidr": _cidr,
    "wildcard": _wildcard,
}
