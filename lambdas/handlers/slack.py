"""Requests from Slack: the signature is checked first, and a signed request is answered within 3 seconds.

Owns the codes: 413 over 16 KiB before anything is computed, 401 unsigned, stale or from the future, 400 what is
not UTF-8, 404 and 405 another path or method; signed, always 200. Nothing of an unsigned request is logged. What words
and buttons do is application/slack/answering.py's.
"""

from collections.abc import Mapping
from functools import cache

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter import clock
from lamplighter.adapters.slack.secret import shared
from lamplighter.application.environment import ENVIRONMENT, lab
from lamplighter.application.slack import log
from lamplighter.application.slack.receiving import OK, SECONDS, Reply, RequestHandler, behind
from lamplighter.data.texts import Texts

SPARED_SECONDS = 0.3


def handler(event: Mapping[str, object], context: object) -> Reply:
    """Entry point: one event of the HTTP API."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    seconds = min(SECONDS, left() / 1000 - SPARED_SECONDS) if callable(left) else SECONDS
    began = clock.now()
    reply = request_handler().answer_event(event, seconds)
    if reply["statusCode"] == OK:
        log.answered_in((clock.now() - began).total_seconds(), lab().name)
    return reply


@cache
def request_handler() -> RequestHandler:
    """The request handler of the lab that this function belongs to."""
    return RequestHandler(shared(ENVIRONMENT.slack_secret), behind, _texts)


def _texts() -> Texts:
    return Texts(lab().notify.language)
