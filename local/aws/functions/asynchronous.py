"""Asynchronous invocations: Lambda's own retries, and the destination of an event that failed for good.

A throttled event goes back to the queue, as often as its age allows. A failed event gets two more tries, one and then
two minutes later, within six hours, unless the function's event-invoke configuration differs
(https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html).
"""

import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from local.aws.functions.runtime import Runtime, Throttled
from local.aws.functions.worker import FunctionSpec, Outcome
from local.clock import VirtualClock

LOG = logging.getLogger(__name__)
#: Seconds before the second and the third try.
DELAYS = (60.0, 120.0)
#: Seconds before a throttled event is tried again; each further time twice as long, at most the second number.
FIRST_THROTTLED_SECONDS, LONGEST_THROTTLED_SECONDS = 1.0, 300.0

#: The outcome of an event that was throttled until it was too old.
TOO_OLD = Outcome(json.dumps({"errorMessage": "Rate Exceeded."}).encode(), failed=True)

#: Sends a text to the queue, topic, function or bus with this ARN, with string attributes, in the name of a role.
Deliver = Callable[[str, str, dict[str, str], str], None]


@dataclass(frozen=True)
class _Policy:
    """What happens to an event of one function; `oldest` in seconds."""

    retries: int
    oldest: float
    on_success: str | None
    on_failure: str | None
    dead_letter: str | None


class AsyncInvoker:
    """Accepts events, and handles each to its end as a fiber of its own."""

    def __init__(self, clock: VirtualClock, runtime: Runtime, deliver: Deliver) -> None:
        self._clock = clock
        self._runtime = runtime
        self._deliver = deliver

    def accept(self, function: Any, spec: FunctionSpec, payload: bytes) -> None:
        """Accepts an event and returns at once. `function` is moto's object."""
        self._clock.spawn(f"event-{spec.name}", lambda: self._see_through(function, spec, payload))

    def _see_through(self, function: Any, spec: FunctionSpec, payload: bytes) -> None:
        accepted = self._clock.time()
        tries = 0
        outcome = self._once(function, spec, payload, accepted)
        while outcome is not None and outcome.failed:
            tries += 1
            policy = _policy(function)
            delay = DELAYS[min(tries, len(DELAYS)) - 1]
            if tries > policy.retries or self._clock.time() + delay - accepted > policy.oldest:
                break
            self._clock.sleep(delay)
            outcome = self._once(function, spec, payload, accepted)
        try:
            self._tell(spec, _policy(function), payload, outcome or TOO_OLD, tries)
        except Exception:
            LOG.exception("an event of %s could not be passed on", spec.name)

    def _once(self, function: Any, spec: FunctionSpec, payload: bytes, accepted: float) -> Outcome | None:
        """One try, when the account has room for it; None if the event became too old before that."""
        delay = FIRST_THROTTLED_SECONDS
        while True:
            try:
                return self._runtime.invoke(spec, payload)
            except Throttled:
                if self._clock.time() + delay - accepted > _policy(function).oldest:
                    return None
            self._clock.sleep(delay)
            delay = min(2 * delay, LONGEST_THROTTLED_SECONDS)

    def _tell(
        self, spec: FunctionSpec, policy: _Policy, payload: bytes, outcome: Outcome, tries: int
    ) -> None:
        target = policy.on_failure if outcome.failed else policy.on_success
        if target:
            self._deliver(target, json.dumps(self._record(spec, payload, outcome, tries)), {}, spec.role)
        if outcome.failed and policy.dead_letter:
            error = json.loads(outcome.payload)
            attributes = {
                "RequestID": str(uuid.uuid4()),
                "ErrorCode": "200",
                "ErrorMessage": str(error.get("errorMessage", ""))[:1024],
            }
            self._deliver(policy.dead_letter, payload.decode(), attributes, spec.role)

    def _record(self, spec: FunctionSpec, payload: bytes, outcome: Outcome, tries: int) -> dict[str, Any]:
        return {
            "version": "1.0",
            "timestamp": self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "requestContext": {
                "requestId": str(uuid.uuid4()),
                "functionArn": f"{spec.arn}:$LATEST",
                "condition": "RetriesExhausted" if outcome.failed else "Success",
                "approximateInvokeCount": tries if outcome.failed else tries + 1,
            },
            "requestPayload": json.loads(payload),
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                **({"functionError": "Unhandled"} if outcome.failed else {}),
            },
            "responsePayload": json.loads(outcome.payload),
        }


def _policy(function: Any) -> _Policy:
    config = function.event_invoke_config[-1].config if function.event_invoke_config else {}
    destinations = config.get("DestinationConfig") or {}
    retries = config.get("MaximumRetryAttempts")
    return _Policy(
        retries=len(DELAYS) if retries is None else int(retries),
        oldest=float(config.get("MaximumEventAgeInSeconds") or 6 * 3600),
        on_success=(destinations.get("OnSuccess") or {}).get("Destination"),
        on_failure=(destinations.get("OnFailure") or {}).get("Destination"),
        dead_letter=function.dead_letter_arn,
    )
