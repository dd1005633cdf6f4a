"""Answers at a response_url: only to Slack's own host, so that no request makes the lab call another address.

Slack allows five answers in half an hour, and the ledger keeps which are left. SLACK_REPLY_HOSTS names the host of a
simulated Slack. Plain http is allowed for loopback alone.
"""

import http.client
import ipaddress
import json
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import reason

HOST = "hooks.slack.com"
PATIENCE_SECONDS = 5
LONGEST_URL = 2048
DONE, SLOW_DOWN, SERVER_ERROR = 200, 429, 500


class NoLonger(OutsideFailed):
    """The address takes no more answers: it is used up, too old, or never was Slack's."""


def allowed(url: str | None) -> bool:
    """Whether an answer may go there."""
    if not url or len(url) > LONGEST_URL or not url.isascii() or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return False
    more = os.environ.get("SLACK_REPLY_HOSTS", "")
    hosts = {HOST, *filter(None, (each.strip().lower() for each in more.split(",")))}
    if host not in hosts or parts.username is not None or parts.password is not None:
        return False
    if parts.scheme == "http":
        return _loopback(host)
    return parts.scheme == "https" and (port in (None, 443) or _loopback(host))


def send(url: str, said: Mapping[str, object]) -> None:
    """Send an answer; NoLonger where the address is over, TryLater or OutsideFailed where it may still work."""
    if not allowed(url):
        raise NoLonger(reason("slack.reply.foreign"))
    parts = urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    # A redirect is not followed: it may lead anywhere.
    connection = connect(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    try:
        body = json.dumps({**said, "replace_original": False}).encode()
        connection.request("POST", path, body, {"Content-Type": "application/json; charset=utf-8"})
        answer = connection.getresponse()
        answer.read(1000)
    except (OSError, http.client.HTTPException) as error:
        raise OutsideFailed(reason("slack.reply.unanswered", error=str(error))) from None
    finally:
        connection.close()
    if answer.status == DONE:
        return
    if answer.status == SLOW_DOWN:
        raise TryLater(reason("slack.reply.slow-down"))
    if answer.status >= SERVER_ERROR:
        raise OutsideFailed(reason("slack.reply.failed", status=str(answer.status)))
    raise NoLonger(reason("slack.reply.over", status=str(answer.status)))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
