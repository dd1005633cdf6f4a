"""What every event of nearly every function needs, loaded with its handler: AWS's SDK and the lab's model.

While a function starts, Lambda gives it whole processors; an event has the share of one that its memory buys
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). A handler imports this module for
what it loads. The adapters load the SDK on first use all the same: a person's command may need none of it.
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
