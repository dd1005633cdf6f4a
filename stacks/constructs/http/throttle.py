"""How many requests the lab's addresses take, so that a new account has room for the guard and the workflows.

A new account runs 10 functions at once and can reserve none of them. An address lets in a burst and then so many a
second; each request holds a function until it is answered. What is above gets 429, and neither runs nor costs
anything. AWS keeps these figures as targets, not as ceilings
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html). Where the account is full all
the same, rules, streams and workflows come again by themselves.
"""

from typing import NamedTuple

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT

ROOM = 3
"""Functions that stay free at any rate of requests: for the guard, a workflow's step and a listener."""


class Throttle(NamedTuple):
    """What an address takes."""

    requests_a_second: float
    burst: int
    seconds: float
    """The longest that a request holds a function, its cold start included."""

    @property
    def most_at_once(self) -> int:
        """Functions that it holds at any rate of requests, each of them new."""
        return int(self.burst + self.requests_a_second * self.seconds)


SLACK = Throttle(requests_a_second=1, burst=3, seconds=3)
"""Slack waits 3 seconds. Who changes the lab is told what was decided: for that the function waits up to 2.2 of them
(`SECONDS` in handlers/slack.py). Who looks is answered in 0.1 to 0.3. Slack does not try again, so a few may press at
once."""
COMMANDS = Throttle(requests_a_second=0.5, burst=1, seconds=1.5)
"""The function starts a workflow and waits for nothing: 1 second where it is new, 0.2 else. The command line tries
again by itself, for 7 seconds."""
assert SLACK.most_at_once + COMMANDS.most_at_once <= NEW_ACCOUNT - ROOM  # noqa: S101 -- the sum of the lines above
