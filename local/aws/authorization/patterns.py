"""Wildcards as IAM has them.

Source: IAM user guide, "IAM JSON policy elements: Resource", "Policy variables" and "ARN condition operators".
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

#: An ARN has six parts; the last may hold more colons.
PARTS = 6
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
#: How a policy writes a literal wildcard character.
_LITERAL = {"*": "*", "?": "?", "$": "$"}

#: The value of a condition key in the request; None if it has no value or several.
Variables = Callable[[str], str | None]


@lru_cache(maxsize=20_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(letter) or re.escape(letter) for letter in pattern), re.DOTALL)


def glob(pattern: str, text: str, variables: Variables) -> bool:
    """Whether `text` matches a pattern with `*`, `?` and policy variables."""
    if "${" not in pattern:
        return _compiled(pattern).fullmatch(text) is not None
    expression = _with_variables(pattern, variables)
    return expression is not None and expression.fullmatch(text) is not None


def _with_variables(pattern: str, variables: Variables) -> re.Pattern[str] | None:
    """The pattern with its variables filled in; their values are no patterns.

    None if a variable has no value: it matches nothing.
    """
    parts: list[str] = []
    place = 0
    for found in _VARIABLE.finditer(pattern):
        parts.append(_compiled(pattern[place : found.start()]).pattern)
        value = _LITERAL.get(found[1]) or variables(found[1])
        if value is None:
            return None
        parts.append(re.escape(value))
        place = found.end()
    parts.append(_compiled(pattern[place:]).pattern)
    return re.compile("".join(parts), re.DOTALL)


def plain(text: str, variables: Variables) -> str | None:
    """A value of a policy with its variables filled in; None if a variable has no value."""
    values = {name: _LITERAL.get(name) or variables(name) for name in _VARIABLE.findall(text)}
    if None in values.values():
        return None
    return _VARIABLE.sub(lambda found: str(values[found[1]]), text)


def arn_matches(pattern: str, arn: str, variables: Variables) -> bool:
    """Compares part by part. A wildcard does not match a colon, except in the last part, which may contain colons."""
    if pattern == "*":
        return True
    wanted, given = pattern.split(":", PARTS - 1), arn.split(":", PARTS - 1)
    if len(wanted) != len(given):
        return False
    return all(glob(each, part, variables) for each, part in zip(wanted, given, strict=True))


def any_action(patterns: Sequence[str], action: str) -> bool:
    """Whether an action matches one of the patterns. All are in lower case."""
    return any(_compiled(pattern).fullmatch(action) is not None for pattern in patterns)
