"""What every event of nearly every function needs, loaded with its handler: AWS's SDK and the lab's model.

While a function starts, Lambda gives it whole processors; an event has the share of one that its memory buys
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). A handler imports this module for
what it loads. The adapters load the SDK on first use all the same: a person's command may need none of it.

An import inside a function loads what few events need. It stays inside where it saves at least 5 ms of processor time
when a function starts. Measured on two x86-64 cores, as `python -X importtime` does:

| loaded on first use | ms | who starts without it |
|---|---|---|
| the lab's model with pydantic | 320 | deploy: most of its events ask for no lab |
| the Kubernetes client | 290 | guard, notices, experiments: it is needed only for pools with nodes |
| course calendars (icalendar, recurring_ical_events) | 200 | every function: few labs follow a calendar |
| slack_sdk | 140 | slack, board: it is needed only for calls to Slack |
| the checks of experiments | 115 | experiments: Prepare and Rearm run no check |
| the ledger, with leases and the deploy mark | 80 | deploy: it is needed only where a pool changes |
| what Slack shows (views, calendar, `why`) | 50 | slack: open, extend, close |
| Powertools' Logger | 50 | slack: it answers first, and logs after that |
| the ladder of checks | 30 | slack, board, pages, guard: only while a pool warms up |
| nodes and pods in Kubernetes, notices of experiments | 10 to 40 | guard, notices |
| modules of single steps of a deploy | 5 together | deploy: each event runs one step |
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
