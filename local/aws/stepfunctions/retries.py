"""What follows an error of a state: a retry after a delay, a catcher, or the end of the execution.

It is pure. The embedded Step Functions and the world of the property tests both use it, each in its own time.
"""

import random
from typing import Any

from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.paths import put

Json = Any
DEFAULT_ATTEMPTS = 3
DEFAULT_INTERVAL_SECONDS = 1
DEFAULT_BACKOFF = 2.0


def retry_delay(state: Json, error: StatesError, used: dict[int, int], chance: random.Random) -> float | None:
    """Seconds until the next attempt; None if no retrier has an attempt left.

    `used` counts the attempts of each retrier, by its place in the list; this function increases the count.
    """
    for number, retrier in enumerate(state.get("Retry", [])):
        if not error.matches(retrier["ErrorEquals"]):
            continue
        attempts = used.get(number, 0)
        if attempts >= retrier.get("MaxAttempts", DEFAULT_ATTEMPTS):
            return None
        used[number] = attempts + 1
        interval = retrier.get("IntervalSeconds", DEFAULT_INTERVAL_SECONDS)
        delay = float(interval * retrier.get("BackoffRate", DEFAULT_BACKOFF) ** attempts)
        delay = min(delay, float(retrier.get("MaxDelaySeconds", delay)))
        return chance.uniform(0, delay) if retrier.get("JitterStrategy") == "FULL" else delay
    return None


def caught(state: Json, data: Json, error: StatesError) -> tuple[Json, str]:
    """The state's input after the first matching catcher, and the next state.

    Raises the error itself if no catcher matches.
    """
    for catcher in state.get("Catch", []):
        if error.matches(catcher["ErrorEquals"]):
            output = {"Error": error.error, "Cause": error.cause}
            return put(catcher.get("ResultPath", "$"), data, output), catcher["Next"]
    raise error
