"""The Condition element of a policy, compared with the values of a request.

Source: IAM user guide, "IAM JSON policy elements: Condition operators" and "Multivalued context keys".
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any, Protocol

from local.aws.authorization.patterns import Variables, arn_matches, glob, plain


class Values(Protocol):
    """The condition values of a request."""

    def values(self, key: str) -> tuple[str, ...] | None:
        """The values of a condition key; None if the request has none.

        Raises Unknown if the embedded cloud cannot tell.
        """


class Unknown(Exception):
    """The embedded cloud cannot tell the value of a key, or does not know an operator. The text names it."""


#: Whether a value of the request matches a value of the policy.
_Test = Callable[[str, str, Variables], bool]


def _string(wanted: str, given: str, variables: Variables) -> bool:
    return plain(wanted, variables) == given


def _no_case(wanted: str, given: str, variables: Variables) -> bool:
    filled = plain(wanted, variables)
    return filled is not None and filled.casefold() == given.casefold()


def _moment(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _compared(number: Callable[[str], float], holds: Callable[[float, float], bool]) -> _Test:
    def test(wanted: str, given: str, _: Variables) -> bool:
        try:
            return holds(number(given), number(wanted))
        except ValueError:
            return False

    return test


def _address(wanted: str, given: str, _: Variables) -> bool:
    return ip_address(given) in ip_network(wanted, strict=False)


_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "Equals": lambda given, wanted: given == wanted,
    "LessThan": lambda given, wanted: given < wanted,
    "LessThanEquals": lambda given, wanted: given <= wanted,
    "GreaterThan": lambda given, wanted: given > wanted,
    "GreaterThanEquals": lambda given, wanted: given >= wanted,
}
_TESTS: dict[str, _Test] = {
    "StringEquals": _string,
    "StringEqualsIgnoreCase": _no_case,
    "StringLike": glob,
    "Bool": _no_case,
    "BinaryEquals": _string,
    "IpAddress": _address,
    "ArnEquals": arn_matches,
    "ArnLike": arn_matches,
    **{f"Numeric{name}": _compared(float, order) for name, order in _ORDERS.items()},
    **{f"Date{name}": _compared(_moment, order) for name, order in _ORDERS.items()},
}
_NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "NumericNotEquals": "NumericEquals",
    "DateNotEquals": "DateEquals",
    "NotIpAddress": "IpAddress",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}


def met(condition: Mapping[str, Mapping[str, Any]], request: Values) -> bool:
    """Whether every operator holds for every key. Raises Unknown."""
    return all(
        _holds(operator, key, _texts(wanted), request)
        for operator, keys in condition.items()
        for key, wanted in keys.items()
    )


def _holds(written: str, key: str, wanted: Sequence[str], request: Values) -> bool:
    quantity, _, operator = written.rpartition(":")
    optional = operator.endswith("IfExists")
    operator = operator.removesuffix("IfExists")
    values = request.values(key)
    if operator == "Null":
        return (values is None) == (wanted[0] == "true")
    negated = operator in _NEGATED
    test = _TESTS.get(_NEGATED.get(operator, operator))
    if test is None or quantity not in ("", "ForAllValues", "ForAnyValue"):
        raise Unknown(f"the operator {written}")
    if not values:
        return optional or quantity == "ForAllValues" or (negated and quantity == "")

    def variables(name: str) -> str | None:
        found = request.values(name)
        return found[0] if found is not None and len(found) == 1 else None

    fits = [any(test(each, value, variables) for each in wanted) != negated for value in values]
    # AWS promises nothing for several values without a quantity, so no statement applies by them:
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html
    return any(fits) if quantity == "ForAnyValue" else all(fits) and (quantity != "" or len(fits) == 1)


def _texts(wanted: Any) -> list[str]:
    values = wanted if isinstance(wanted, list) else [wanted]
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
