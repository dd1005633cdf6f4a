"""Calls of functions that AWS refuses on purpose: it throttles them, or has a failure of its own.

This file has the texts of AWS's refusals and the question. The test that plans the fault decides when to refuse.
"""

from collections.abc import Callable
from dataclasses import dataclass

from local.aws.api.own_services import AwsError
from local.aws.faults import step_and_pool


@dataclass(frozen=True)
class FunctionCall:
    """One AWS call of a lab function. `invocation` names its invocation.

    `step` and `pool` name the step of a workflow and its pool, if it is one.
    """

    service: str
    operation: str
    function: str
    invocation: str
    step: str | None
    pool: str | None


#: Error code and HTTP status by signing name, as the services' documentation has them.
_SLOW_DOWN = {"ec2": ("RequestLimitExceeded", 503), "autoscaling": ("Throttling", 400)}
_FAILED = {
    "dynamodb": "InternalServerError",
    "eks": "ServerException",
    "scheduler": "InternalServerException",
    "ec2": "InternalError",
    "autoscaling": "InternalFailure",
}
CODES = frozenset({"ThrottlingException", *(code for code, _ in _SLOW_DOWN.values()), *_FAILED.values()})


@dataclass(frozen=True)
class Refusal:
    """AWS's answer instead of carrying out the call."""

    error: AwsError
    status: int


def throttled(service: str) -> Refusal:
    """Too many calls."""
    code, status = _SLOW_DOWN.get(service, ("ThrottlingException", 400))
    return Refusal(AwsError(code, "Rate exceeded"), status)


def failed(service: str) -> Refusal:
    """A failure of AWS itself."""
    return Refusal(AwsError(_FAILED.get(service, "InternalFailure"), "An internal error occurred"), 500)


class Refusals:
    """`judge` decides about each call of a function. None, the value at first, refuses nothing."""

    def __init__(self, who: Callable[[str], tuple[str, str, bytes] | None]) -> None:
        """`who` gives function, invocation and payload of an access key, if a function calls with it."""
        self._who = who
        self.judge: Callable[[FunctionCall], Refusal | None] | None = None

    def refusal(self, access_key_id: str, service: str, operation: str) -> Refusal | None:
        """Called before every call to AWS."""
        if self.judge is None:
            return None
        found = self._who(access_key_id)
        if found is None:
            return None
        function, invocation, payload = found
        return self.judge(FunctionCall(service, operation, function, invocation, *step_and_pool(payload)))
