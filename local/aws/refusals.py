"""Calls of functions that AWS refuses on purpose: it asks to slow down, or fails itself.

Owns the texts of AWS's refusals and the question; when to refuse is up to whoever scripts the fault.
"""

from collections.abc import Callable
from dataclasses import dataclass

from local.aws.api.own_services import AwsError
from local.aws.faults import step_and_pool


@dataclass(frozen=True)
class FunctionCall:
    """One call that a function of the lab makes. `invocation` names its invocation, `step` and `pool` what that
    is for, where it is a step of a workflow."""

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
    """What AWS answers instead of doing it."""

    error: AwsError
    status: int


def throttled(service: str) -> Refusal:
    """Too many calls."""
    code, status = _SLOW_DOWN.get(service, ("ThrottlingException", 400))
    return Refusal(AwsError(code, "Rate exceeded"), status)


def failed(service: str) -> Refusal:
    """AWS's own failure."""
    return Refusal(AwsError(_FAILED.get(service, "InternalFailure"), "An internal error occurred"), 500)


class Refusals:
    """`judge` says what becomes of a call of a function; None, as at first: nothing is refused."""

    def __init__(self, who: Callable[[str], tuple[str, str, bytes] | None]) -> None:
        """`who` gives function, invocation and payload behind an access key, if a function calls with it."""
        self._who = who
        self.judge: Callable[[FunctionCall], Refusal | None] | None = None

    def refusal(self, access_key_id: str, service: str, operation: str) -> Refusal | None:
        """Asked before every call to AWS."""
        if self.judge is None:
            return None
        found = self._who(access_key_id)
        if found is None:
            return None
        function, invocation, payload = found
        return self.judge(FunctionCall(service, operation, function, invocation, *step_and_pool(payload)))
