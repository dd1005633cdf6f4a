"""What every event of nearly every function needs, loaded with its handler: AWS's SDK and the lab's model.

While a function starts, Lambda gives it whole processors; an event has the share of one that its memory buys
(https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html). A handler imports this module for
what it loads. The adapters load the SDK on first use all the same: a person's command may need none of it.
"""

import boto3

from lamplighter.lab import Lab

__all__ = ["Lab", "boto3"]
