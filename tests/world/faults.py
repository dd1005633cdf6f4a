"""What the outside may answer to one call of our code: every error, and any answer at all.

A fault is in force until somebody takes it away. It knows nothing of our code: the errors are those of botocore, of
AWS's service models, of the API server and of addresses that speak HTTP, and an answer is distorted by its shape alone.
"""

import functools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.error import URLError

import botocore.session
from botocore import exceptions
from botocore.parsers import ResponseParserError
from urllib3.exceptions import ProtocolError

from tests.world.outside import no_answer, refused

Json = Any
KUBERNETES, SLACK, HTTPS = "kubernetes", "slack", "https"
#: What answers with a status and a text: the errors where it does not answer, and where its answer is lost.
HTTP: dict[str, tuple[Callable[[], Exception], Callable[[], Exception]]] = {
    KUBERNETES: (lambda: ProtocolError("Connection aborted."),) * 2,
    SLACK: (lambda: URLError(OSError(111, "Connection refused")), lambda: TimeoutError("timed out")),
    HTTPS: (lambda: URLError(OSError(111, "Connection refused")), lambda: TimeoutError("timed out")),
}
REFUSAL = {"kind": "Status", "message": "refused for a test", "ok": False, "error": "refused_for_a_test"}
"""Of the API server, and of Slack, which refuses with status 200 as well."""
#: https://docs.aws.amazon.com/ec2/latest/devguide/CommonErrors.html: those that every service may give.
COMMON = (
    *("AccessDeniedException", "ExpiredTokenException", "ThrottlingException", "ServiceUnavailable"),
    *("InternalFailure", "ValidationError", "OptInRequired", "RequestLimitExceeded"),
)
#: https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go
STATUSES = (401, 403, 404, 409, 410, 413, 422, 429, 500, 503, 504)
FOREIGN: tuple[Callable[[], Exception], ...] = (
    lambda: RuntimeError("can't start new thread"),
    lambda: OSError(28, "No space left on device"),
    lambda: ValueError("embedded null byte"),
    AssertionError,
    lambda: KeyError("endpoint"),
    lambda: RecursionError("maximum recursion depth exceeded"),
    MemoryError,
)
SILENT: tuple[Callable[[], Exception], ...] = (
    no_answer,
    lambda: exceptions.EndpointConnectionError(endpoint_url="https://aws.world"),
    lambda: exceptions.ConnectionClosedError(endpoint_url="https://aws.world"),
    lambda: exceptions.SSLError(endpoint_url="https://aws.world", error=OSError("certificate has expired")),
    lambda: exceptions.CredentialRetrievalError(provider="container-role", error_msg="timed out"),
    lambda: ResponseParserError("Unable to parse response (no element found: line 1, column 0)"),
)
LONG = "9" * 5000
"""A number that Python does not convert: it has more than 4,300 digits."""
STRANGE: tuple[str, ...] = (
    "",
    LONG,
    "-1",
    "1e400",
    "nan",
    "x\x1b[2K\n\0y",
    "nobody:1",
    "ü" * 300,
    "{}",
    "null",
)
AGAIN = 10


@dataclass(frozen=True)
class Fault:
    """What one call answers: `kind` is one of `kinds(call)`, and `of` limits it to calls that name one of these."""

    call: str
    kind: str
    function: str | None = None
    of: tuple[str, ...] = ()

    def meets(self, function: str, call: str, given: Callable[[], str]) -> bool:
        """Whether a call of a function, with these parameters, falls under it."""
        if call != self.call or self.function not in {None, function}:
            return False
        return not self.of or any(name in given() for name in self.of)

    def answer(self, act: Callable[[], Json], chance: random.Random) -> Json:
        """The answer, or the error that is raised instead."""
        word, _, number = self.kind.partition(" ")
        service, _, operation = self.call.partition(".")
        match word:
            case "foreign":
                error = FOREIGN[int(number)]()
                raise error
            case "silent" if service in HTTP:
                error = HTTP[service][0]()
                raise error
            case "silent":
                error = SILENT[int(number)]()
                raise error
            case "lost":
                act()
                error = HTTP[service][1]() if service in HTTP else no_answer()
                raise error
            case "error" if service in HTTP:
                return int(number), {**REFUSAL, "code": int(number)}
            case "error":
                raise refused(number, "refused for a test", operation)
        answer = act()
        if service in HTTP:
            status, said = answer
            if word == "text":
                return 200, "<html>a proxy says hello</html>"
            return (status, distorted(word, said, chance)) if status < 400 else answer
        return distorted(word, answer, chance)


DISTORTIONS = ("empty", "half", "types", "numbers", "texts", "huge")


def kinds(call: str) -> list[str]:
    """Every way in which a call may go wrong."""
    service, _, operation = call.partition(".")
    found = [*(f"foreign {number}" for number in range(len(FOREIGN))), "lost", *DISTORTIONS]
    if service in HTTP:
        statuses = (200, *STATUSES) if service == SLACK else STATUSES
        return [*found, "silent 0", "text", *(f"error {status}" for status in statuses)]
    codes = dict.fromkeys((*COMMON, *_errors(service, operation)))
    return [
        *found,
        *(f"silent {number}" for number in range(len(SILENT))),
        *(f"error {code}" for code in codes),
    ]


@functools.cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _errors(service: str, operation: str) -> Iterator[str]:
    """The errors that AWS's model of the service names for an operation."""
    model = _model(service)
    named = operation.replace("_", "")
    found = next(each for each in model.operation_names if each.lower() == named)
    for shape in model.operation_model(found).error_shapes:
        yield shape.metadata.get("error", {}).get("code") or shape.name


def distorted(how: str, value: Json, chance: random.Random) -> Json:
    """The answer as something else: the shape decides, not the meaning."""
    if how == "empty":
        return {}
    if how == "huge":
        return _repeated(value)
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if how != "half" or chance.random() < 0.7}
        if how == "types" and chance.random() < 0.1:
            return chance.choice(([], None, "text", 7))
        return {name: distorted(how, one, chance) for name, one in kept.items()}
    if isinstance(value, list):
        some = value[: (len(value) + 1) // 2] if how == "half" else value
        if how == "types" and chance.random() < 0.1:
            return chance.choice(({}, None, "text", 7))
        return [distorted(how, one, chance) for one in some]
    return _leaf(how, value, chance)


def _repeated(value: Json) -> Json:
    """The answer with its outermost lists many times as long."""
    if isinstance(value, dict):
        return {name: _repeated(one) for name, one in value.items()}
    return value * AGAIN if isinstance(value, list) else value


def _leaf(how: str, value: Json, chance: random.Random) -> Json:
    if isinstance(value, datetime) and how == "numbers" and chance.random() < 0.3:
        return value + chance.choice((timedelta(days=-20000), timedelta(days=400000)))
    if isinstance(value, bool) or value is None or not isinstance(value, str | int):
        return chance.choice((None, "text", 7)) if how == "types" and not hasattr(value, "read") else value
    if chance.random() > 0.3:
        return value
    match how:
        case "types":
            return chance.choice((None, [], {}, 7 if isinstance(value, str) else "text"))
        case "numbers" if isinstance(value, int):
            return chance.choice((10**30, -1, 0))
        case "numbers" if isinstance(value, str) and value.lstrip("-").isdecimal():
            return chance.choice((LONG, "-1", "0", "1e400"))
        case "texts" if isinstance(value, str):
            return chance.choice(STRANGE)
    return value
