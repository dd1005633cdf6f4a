"""What every event of nearly every function needs, loaded with its handler: AWS's SDK and the lab's model.

While a function starts, Lambda gives it whole processors; an event has the share of one that its memory buys
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). A handler imports this module for
what it loads. The adapters load the SDK on first use all the same: a person's command may need none of it.

An import inside a function is for events that most calls are not. It stays where it saves 5 ms or more of processor
time at the start of a function that may never need it, in milliseconds on two x86-64 cores (`python -X importtime`):

| loaded on first use | ms | who starts without it |
|---|---|---|
| the lab's model with pydantic | 320 | deploy: most of its events ask for no lab |
| the Kubernetes client | 290 | guard, notices, experiments: for pools where something runs |
| course calendars (icalendar, recurring_ical_events) | 200 | all but the labs that follow a calendar |
| slack_sdk | 140 | slack, board: the first message that they send |
| checks as experiments see them | 115 | experiments: Prepare and Rearm |
| what Slack shows (views, calendar, `why`) | 50 | slack: open, extend, close |
| Powertools' Logger | 50 | slack: it answers within 3 s, and logs after that |
| the ladder of checks | 30 | slack, board, pages, guard: only while a pool warms up |
| the steps of experiments and of nodes in Kubernetes | 10 to 40 | guard, notices |
| urllib.request | 25 | deploy: one request, to CloudFormation, at its end |

An import that costs less is at the top of its file.
"""

from collections.abc import Callable
from contextlib import suppress

import boto3

from lamplighter.errors import BadInput
from lamplighter.lab.model import Lab

__all__ = ["Lab", "boto3", "make"]


def make(*makers: Callable[[], object]) -> None:
    """Make now what every event works with: the lab, and clients, whose models botocore reads here and not later.

    Each of them keeps what it made. Where there is no environment yet, as in a test, the first event makes it, and
    says what is missing.
    """
    with suppress(KeyError, BadInput):
        for maker in makers:
            maker()
