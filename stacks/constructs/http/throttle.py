"""How much of a new account the lab's addresses and queues take, so that the guard and the workflows have room.

A new account runs 10 functions at once and can reserve none of them. A queue's mapping bounds how many functions take
from it. The address of the command line has a function behind it: it takes a burst, and then a number of requests a
second, each of which occupies a function until its answer. Further requests get 429 and cost nothing. AWS treats these
figures as targets, not as limits
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html). If all functions
of the account are busy nevertheless, rules, streams, queues and workflows retry.
"""

from typing import NamedTuple

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT

ROOM = 3
"""Functions that stay free at any request rate: for the guard, a workflow's step and a listener."""
EVENTS_AT_ONCE = 2
"""Functions that take requests of the bus, the least that Lambda takes
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html)."""
SLACK_AT_ONCE = 3
"""Functions that take requests from Slack. Each takes ten, answers them side by side, and waits for no decision."""
GUARD_AT_ONCE = 2
"""In a lab with NodePools, sweeps for EC2's events. They are what the guard needs of `ROOM`, and Slack has one less."""
SLACK_BESIDE_NODE_POOLS = 2
REQUESTS_A_SECOND = 300
"""Of an address that leads to a queue, whoever sends them: API Gateway cannot tell Slack's from others. A class sends
some 50 a second at most, and this bounds what a flood costs: docs/reference/cost.md."""


class Throttle(NamedTuple):
    """The request rate of an address with a function behind it."""

    requests_a_second: float
    burst: int
    seconds: float
    """The longest time that a request occupies a function, cold start included."""

    @property
    def most_at_once(self) -> int:
        """The most functions that the address can occupy, if each of them starts cold."""
        return int(self.burst + self.requests_a_second * self.seconds)


COMMANDS = Throttle(requests_a_second=1, burst=1, seconds=1.5)
"""The function starts a workflow and waits for nothing: 1 second where it is new, 0.2 else. The command line tries
again by itself, for a minute: a class of thirty gets in. A stranger's requests do not reach the stage that counts
them (stacks/constructs/http/http_address.py)."""
for slack, guard in ((SLACK_AT_ONCE, 1), (SLACK_BESIDE_NODE_POOLS, GUARD_AT_ONCE)):
    assert slack + EVENTS_AT_ONCE + COMMANDS.most_at_once + guard <= NEW_ACCOUNT - (ROOM - 1)  # noqa: S101 -- the sum of the lines above
