"""DynamoDB's condition and update expressions over items in DynamoDB's own form, as far as the ledger uses them.

Each text is parsed once. A text that the world cannot read raises NotInTheWorld.
tests/properties/laws/test_world_conformance.py compares it with moto.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from tests.world.outside import NotInTheWorld

Item = dict[str, Any]
Given = Mapping[str, Any]
Condition = Callable[[Given, Given, Given], bool]
Operand = Callable[[Given, Given, Given], Any]
Change = Callable[[Given, Item, Given, Given], None]

_TOKEN = re.compile(r"\s*(<>|<=|>=|[=<>(),+\-]|[#:]?[A-Za-z_][\w.]*)")
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class _Reader:
    """Tokens of one expression, taken from the left."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotInTheWorld(f"the world cannot read {text[at:]!r} in {text!r}")
            self.tokens.append(found[1])
            at = found.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def word(self) -> str:
        return self.peek().upper()

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token.upper() != wanted):
            raise NotInTheWorld(f"the world expects {wanted or 'more'} in {self.text!r}, not {token!r}")
        self.at += 1
        return token


@cache
def condition(text: str) -> Condition:
    """Whether a condition holds for an item ({} for a missing one)."""
    reader = _Reader(text)
    made = _either(reader)
    if reader.peek():
        raise NotInTheWorld(f"the world cannot read {reader.peek()!r} in {text!r}")
    return made


def _either(reader: _Reader) -> Condition:
    parts = [_both(reader)]
    while reader.word() == "OR":
        reader.take()
        parts.append(_both(reader))
    return parts[0] if len(parts) == 1 else lambda i, n, v: any(part(i, n, v) for part in parts)


def _both(reader: _Reader) -> Condition:
    parts = [_one(reader)]
    while reader.word() == "AND":
        reader.take()
        parts.append(_one(reader))
    return parts[0] if len(parts) == 1 else lambda i, n, v: all(part(i, n, v) for part in parts)


def _one(reader: _Reader) -> Condition:
    word = reader.word()
    if word == "NOT":
        reader.take()
        inner = _one(reader)
        return lambda i, n, v: not inner(i, n, v)
    if word == "(":
        reader.take()
        inner = _either(reader)
        reader.take(")")
        return inner
    if word in {"ATTRIBUTE_EXISTS", "ATTRIBUTE_NOT_EXISTS"}:
        reader.take()
        reader.take("(")
        path = reader.take()
        reader.take(")")
        wanted = word == "ATTRIBUTE_EXISTS"
        return lambda i, n, v: (_name(path, n) in i) is wanted
    if word == "BEGINS_WITH":
        reader.take()
        reader.take("(")
        left = _operand(reader)
        reader.take(",")
        right = _operand(reader)
        reader.take(")")
        return lambda i, n, v: _starts(left(i, n, v), right(i, n, v))
    return _comparison(reader)


def _comparison(reader: _Reader) -> Condition:
    left = _operand(reader)
    word = reader.take().upper()
    if word == "IN":
        reader.take("(")
        choices = [_operand(reader)]
        while reader.peek() == ",":
            reader.take()
            choices.append(_operand(reader))
        reader.take(")")
        return lambda i, n, v: any(_compare("=", left(i, n, v), each(i, n, v)) for each in choices)
    if word == "BETWEEN":
        low = _operand(reader)
        reader.take("AND")
        high = _operand(reader)
        return lambda i, n, v: (
            _compare(">=", left(i, n, v), low(i, n, v)) and _compare("<=", left(i, n, v), high(i, n, v))
        )
    if word not in _COMPARES:
        raise NotInTheWorld(f"the world does not know the comparison {word!r} in {reader.text!r}")
    right = _operand(reader)
    return lambda i, n, v: _compare(word, left(i, n, v), right(i, n, v))


def _operand(reader: _Reader) -> Operand:
    token = reader.take()
    if token.startswith(":"):
        return lambda i, n, v: v[token]
    if token.lower() == "if_not_exists":
        reader.take("(")
        path = reader.take()
        reader.take(",")
        otherwise = _operand(reader)
        reader.take(")")
        return lambda i, n, v: i[_name(path, n)] if _name(path, n) in i else otherwise(i, n, v)
    if reader.peek() == "(":
        raise NotInTheWorld(f"the world does not know the function {token} in {reader.text!r}")
    return lambda i, n, v: i.get(_name(token, n))


def _name(path: str, names: Given) -> str:
    if "." in path:
        raise NotInTheWorld(f"the world knows no paths into maps yet: {path}")
    return str(names[path]) if path.startswith("#") else path


def _compare(word: str, left: Any, right: Any) -> bool:
    """Values of different types are unequal, and so are missing values. No other comparison of them holds."""
    if left is None or right is None:
        return word == "<>"
    [(kind, one)] = left.items()
    [(other_kind, other)] = right.items()
    if kind != other_kind:
        return word == "<>"
    if kind == "N":
        one, other = Decimal(one), Decimal(other)
    return _COMPARES[word](one, other)


def _starts(left: Any, right: Any) -> bool:
    return left is not None and "S" in left and left["S"].startswith(right["S"])


@cache
def change(text: str) -> Change:
    """The change of an item by an update: (the item before, the item to change, names, values)."""
    reader = _Reader(text)
    changes: list[Change] = []
    while reader.peek():
        clause = reader.take().upper()
        if clause not in {"SET", "REMOVE", "ADD"}:
            raise NotInTheWorld(f"the world does not know {clause} in {text!r}")
        while True:
            changes.append(_CLAUSES[clause](reader))
            if reader.peek() != ",":
                break
            reader.take()

    def all_of_them(before: Given, item: Item, names: Given, values: Given) -> None:
        for each in changes:
            each(before, item, names, values)

    return all_of_them


def _set(reader: _Reader) -> Change:
    path = reader.take()
    reader.take("=")
    first = _operand(reader)
    sign = reader.peek() if reader.peek() in {"+", "-"} else ""
    if not sign:

        def put(before: Given, item: Item, names: Given, values: Given) -> None:
            item[_name(path, names)] = first(before, names, values)

        return put
    reader.take()
    second = _operand(reader)

    def put_sum(before: Given, item: Item, names: Given, values: Given) -> None:
        one = Decimal(first(before, names, values)["N"])
        other = Decimal(second(before, names, values)["N"])
        item[_name(path, names)] = {"N": str(one + other if sign == "+" else one - other)}

    return put_sum


def _remove(reader: _Reader) -> Change:
    path = reader.take()
    return lambda before, item, names, values: item.pop(_name(path, names), None) and None


def _add(reader: _Reader) -> Change:
    path = reader.take()
    number = _operand(reader)

    def add(before: Given, item: Item, names: Given, values: Given) -> None:
        there = Decimal(before.get(_name(path, names), {"N": "0"})["N"])
        item[_name(path, names)] = {"N": str(there + Decimal(number(before, names, values)["N"]))}

    return add


_CLAUSES: dict[str, Callable[[_Reader], Change]] = {"SET": _set, "REMOVE": _remove, "ADD": _add}
