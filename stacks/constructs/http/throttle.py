"""The request rates of the lab's addresses, so that a new account has room for the guard and the workflows.

A new account runs 10 functions at once and can reserve none of them. An address takes a burst, and then a number of
requests a second; each request occupies a function until its answer. Further requests get 429 and cost nothing. AWS
treats these figures as targets, not as limits
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html). If all functions
of the account are busy nevertheless, rules, streams and workflows retry.
"""

from typing import NamedTuple

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT

ROOM = 3
"""Functions that stay free at any request rate: for the guard, a workflow's step and a listener."""


class Throttle(NamedTuple):
    """The request rate of an address."""

    requests_a_second: float
    burst: int
    seconds: float
    """The longest time that a request occupies a function, cold start included."""

    @property
    def most_at_once(self) -> int:
        """The most functions that the address can occupy, if each of them starts cold."""
        return int(self.burst + self.requests_a_second * self.seconds)


SLACK = Throttle(requests_a_second=1, burst=3, seconds=3)
"""Slack waits 3 seconds. Who changes the lab is told what was decided: for that the function waits up to 2.2 of them
(`SECONDS` in handlers/slack.py). Who looks is answered in 0.1 to 0.3. Slack does not try again, so a few may press at
once."""
COMMANDS = Throttle(requests_a_second=0.5, burst=1, seconds=1.5)
"""The function starts a workflow and waits for nothing: 1 second where it is new, 0.2 else. The command line tries
again by itself, for 7 seconds."""
assert SLACK.most_at_once + COMMANDS.most_at_once <= NEW_ACCOUNT - ROOM  # noqa: S101 -- the sum of the lines above
