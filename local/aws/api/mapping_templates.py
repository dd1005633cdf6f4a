"""The mapping templates of a REST API: as much of Velocity as this project's templates use.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html Everything else
is an error: a template that is not understood must not pass as text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus

#: What an empty body is in a template: AWS's behaviour, recorded by LocalStack's test_sqs_aws_integration.
EMPTY = "{}"
_CALL = r"(?:\((?:[^()]|\([^()]*\))*\))?"
_VALUE = rf"\$(?:input|context|util)\.[a-zA-Z]++{_CALL}(?![(.][\w'$)])"
_PIECE = re.compile(
    rf"(?P<value>{_VALUE})|(?P<nothing>##[^\n]*\n?|#set\(\$\w+ *= *(?:\"\"|'')\)\n?)|(?P<other>[#$])"
)
_PARAMETER = re.compile(r"input\.params\('([^']+)'\)")
_ENCODED = re.compile(r"util\.urlEncode\(\$(.+)\)")


@dataclass(frozen=True)
class Input:
    """What a template reads. Names of headers count as they were written, because API Gateway processes header names
    in a case-sensitive way (developer guide, "Amazon API Gateway important notes").
    """

    body: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    context: Mapping[str, str]

    def parameter(self, name: str) -> str:
        """`$input.params(name)` looks into the query first, then into the headers; it is empty without either."""
        return self.query.get(name) or self.headers.get(name) or ""


def render(template: str, given: Input) -> str:
    """The text of a template. Raises ValueError for a part of Velocity that is not played here."""

    def text(piece: re.Match[str]) -> str:
        if piece["other"]:
            rest = template[piece.start() : piece.start() + 40]
            raise ValueError(f"the embedded cloud's mapping templates do not know {rest!r}")
        return "" if piece["nothing"] else _value(piece["value"].removeprefix("$"), given)

    return _PIECE.sub(text, template)


def _value(expression: str, given: Input) -> str:
    encoded, parameter = _ENCODED.fullmatch(expression), _PARAMETER.fullmatch(expression)
    if encoded:
        return url_encoded(_value(encoded[1], given))
    if parameter:
        return given.parameter(parameter[1])
    if expression == "input.body":
        return given.body or EMPTY
    name = expression.removeprefix("context.")
    if name != expression and name in given.context:
        return given.context[name]
    raise ValueError(f"the embedded cloud's mapping templates do not know ${expression}")


def url_encoded(text: str) -> str:
    """As Java's URLEncoder writes it, which leaves `*` alone and encodes `~`."""
    return quote_plus(text, safe="*").replace("~", "%7E")
