"""CloudWatch's filter patterns: which lines of a log FilterLogEvents returns.

It knows terms, and JSON patterns of strings and numbers with `=`, `&&`, `||` and parentheses. Every other pattern is
refused, so that none matches by mistake.

Source: CloudWatch Logs user guide, "Filter pattern syntax for metric filters, subscription filters, filter log events,
and Live Tail".
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

Matches = Callable[[str], bool]
Holds = Callable[[Any], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<sign>&&|\|\||[()=])|(?P<path>\$(?:\.[\w-]+)+)"
    r'|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<number>-?\d+(?:\.\d+)?)(?![\w.])|(?P<end>$))'
)
_TERM = re.compile(r'\s*(?:"(?P<phrase>[^"]+)"|(?P<word>[^\s"?%{}\[\]()-][^\s"]*))\s*')
_END = ("end", "")


@cache
def compiled(pattern: str) -> Matches:
    """Tells of a line whether it fits the pattern. Raises ValueError for a pattern that is unknown here."""
    pattern = pattern.strip()
    if not pattern:
        return lambda _: True
    if pattern.startswith("{") and pattern.endswith("}"):
        return _of_json(_Reader(pattern[1:-1]).read())
    terms = _terms(pattern)
    return lambda line: all(term in line for term in terms)


def _terms(pattern: str) -> list[str]:
    terms, at = [], 0
    while at < len(pattern):
        found = _TERM.match(pattern, at)
        if found is None:
            raise ValueError(pattern)
        terms.append(found["phrase"] or found["word"])
        at = found.end()
    return terms


def _of_json(holds: Holds) -> Matches:
    def matches(line: str) -> bool:
        if not line.lstrip().startswith("{"):
            return False
        try:
            return holds(json.loads(line))
        except ValueError:
            return False

    return matches


class _Reader:
    """Reads the inside of the braces. `&&` comes before `||`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._kind, self._value = _END
        self._next()

    def read(self) -> Holds:
        holds = self._any()
        if (self._kind, self._value) != _END:
            raise ValueError(self._text)
        return holds

    def _any(self) -> Holds:
        parts = [self._all()]
        while self._value == "||" and self._kind == "sign":
            self._next()
            parts.append(self._all())
        return lambda line: any(part(line) for part in parts)

    def _all(self) -> Holds:
        parts = [self._one()]
        while self._value == "&&" and self._kind == "sign":
            self._next()
            parts.append(self._one())
        return lambda line: all(part(line) for part in parts)

    def _one(self) -> Holds:
        if (self._kind, self._value) == ("sign", "("):
            self._next()
            holds = self._any()
            self._take("sign", ")")
            return holds
        path = self._take("path").split(".")[1:]
        self._take("sign", "=")
        return _equal(path, self._number() if self._kind == "number" else self._string())

    def _number(self) -> Holds:
        number = float(self._take("number"))
        return lambda value: (
            isinstance(value, int | float) and not isinstance(value, bool) and value == number
        )

    def _string(self) -> Holds:
        wanted = re.sub(r"\\(.)", r"\1", self._take("text"))
        if "*" not in wanted:
            return lambda value: isinstance(value, str) and value == wanted
        fits = re.compile(
            "".join(".*" if part == "*" else re.escape(part) for part in re.split(r"(\*)", wanted))
        )
        return lambda value: isinstance(value, str) and fits.fullmatch(value) is not None

    def _take(self, kind: str, value: str | None = None) -> str:
        taken = self._value
        if self._kind != kind or value not in (None, taken):
            raise ValueError(self._text)
        self._next()
        return taken

    def _next(self) -> None:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise ValueError(self._text)
        self._at = found.end()
        self._kind = str(found.lastgroup)
        self._value = found[self._kind]


def _equal(path: list[str], holds: Holds) -> Holds:
    def equal(line: Any) -> bool:
        for name in path:
            if not isinstance(line, dict) or name not in line:
                return False
            line = line[name]
        return holds(line)

    return equal
