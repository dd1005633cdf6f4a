"""Requests from Slack: the signature is checked first, and a signed request is answered within 3 seconds.

Owns the codes: 413 over 16 KiB before anything is computed, 401 unsigned, stale or from the future, 400 what is
not UTF-8, 404 and 405 what is no knock; signed, always 200. Nothing of an unsigned request is logged. What words
and buttons do is application/slack/answering.py's.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter.adapters.slack.secret import shared
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.application.slack.receiving import SECONDS, Reply, RequestHandler, behind

SPARED_SECONDS = 0.3


def handler(event: Mapping[str, object], context: object) -> Reply:
    """Entry point: one event of the HTTP API."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    seconds = min(SECONDS, left() / 1000 - SPARED_SECONDS) if callable(left) else SECONDS
    return door().answer_event(event, seconds)


@cache
def door() -> RequestHandler:
    """The request handler of the lab that this function belongs to."""
    return RequestHandler(shared(ENVIRONMENT.slack_secret), behind)
