"""EC2's throttle of reads: each action has one bucket of an account and region, which all callers share.

A judge of refusals.py; without one nothing is throttled, because a test that reads while time stands still would be.
"""

from local.aws.api.throttles import Throttles
from local.aws.refusals import FunctionCall, Refusal, throttled
from local.clock import VirtualClock

#: Tokens a second and at most, of an action that changes nothing and is called with a filter or by pages
#: (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html).
RATE, BURST = 20.0, 100.0


class ReadThrottle:
    """`refused` counts the calls of functions that found no token."""

    def __init__(self, clock: VirtualClock) -> None:
        self._buckets = Throttles(clock)
        self.refused = 0

    def __call__(self, call: FunctionCall) -> Refusal | None:
        if call.service != "ec2" or not call.operation.startswith("Describe") or self.read(call.operation):
            return None
        self.refused += 1
        return throttled("ec2")

    def read(self, operation: str) -> bool:
        """Whether somebody in the account may read once more now; takes the token."""
        return self._buckets.lets_in(operation, RATE, BURST)
