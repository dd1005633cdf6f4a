"""What API Gateway refuses before it reads a request: too many at once, or one that is too large.

A throttle is a token bucket: `burst` tokens at most, and `rate` new ones a second
(https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html).
"""

import threading

from local.clock import VirtualClock

#: The largest body of a request (API Gateway quotas, "Payload size").
MOST_BYTES = 10 * 1024 * 1024


class Throttles:
    """The buckets, by what they throttle."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        #: The requests that may come at once, and the instant of that count.
        self._tokens: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def lets_in(self, key: str, rate: float, burst: float) -> bool:
        """Whether there is a token for one more request, which then is used."""
        now = self._clock.time()
        with self._lock:
            tokens, filled = self._tokens.get(key, (burst, now))
            tokens = min(burst, tokens + (now - filled) * rate)
            let_in = tokens >= 1
            self._tokens[key] = (tokens - let_in, now)
        return let_in
