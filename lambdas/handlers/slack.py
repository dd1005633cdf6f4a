"""Requests from Slack, in batches of their queue: the signature is checked first, and answers go to a response_url.

It answers with the messages that failed; SQS hands these out again
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html). What words and buttons do is
application/slack/answering.py's.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from handlers import at_init
from lamplighter.adapters.slack.secret import shared
from lamplighter.application.environment import ENVIRONMENT, lab
from lamplighter.application.slack import log
from lamplighter.application.slack.answering import respond
from lamplighter.application.slack.context import slack_services
from lamplighter.application.slack.receiving import RequestHandler, SignedRequest


def handler(event: Mapping[str, Any], _context: object) -> dict[str, list[dict[str, str]]]:
    """Entry point of the event source mapping."""
    outcome = request_handler().take(event["Records"])
    if outcome.dropped:
        log.dropped(outcome.dropped, lab().name)
    return {"batchItemFailures": [{"itemIdentifier": name} for name in outcome.failed]}


@cache
def request_handler() -> RequestHandler:
    """The request handler of the lab that this function belongs to."""
    return RequestHandler(shared(ENVIRONMENT.slack_secret), _respond)


def _respond(signed: SignedRequest) -> None:
    respond(signed, slack_services())


# Before the requests of a batch are answered side by side: boto3 makes no clients in several threads at once
# (https://docs.aws.amazon.com/boto3/latest/guide/clients.html, "Multithreading").
at_init.make(lab, slack_services)
