"""Event patterns of Lambda's event filtering: a nested pattern, with a list of allowed values at each leaf.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html. An unknown comparison is an error, never a
match.
"""

from collections.abc import Mapping
from typing import Any


def matches(pattern: Mapping[str, Any], event: Any) -> bool:
    """Whether the event has, under each key of the pattern, one of the listed values."""
    if not isinstance(event, Mapping):
        return False
    return all(
        matches(wanted, event.get(key))
        if isinstance(wanted, Mapping)
        else any(_fits(one, event.get(key), present=key in event) for one in wanted)
        for key, wanted in pattern.items()
    )


def _fits(wanted: Any, value: Any, *, present: bool) -> bool:
    if not isinstance(wanted, Mapping):
        return present and bool(value == wanted)
    match dict(wanted):
        case {"prefix": str(prefix)}:
            return isinstance(value, str) and value.startswith(prefix)
        case {"exists": bool(exists)}:
            return present is exists
        case _:
            raise ValueError(f"the embedded cloud does not know the comparison {wanted}")
