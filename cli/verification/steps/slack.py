"""Whether the lab's address takes what Slack has signed and drops the rest, and how long a cold answer takes.

The command has no response_url, so nobody reads its answer: the ledger and the function's log are the evidence.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode

from cli.verification.account import Account
from cli.verification.outcome import Differs, Unfit
from cli.verification.step import Play, Step
from cli.verification.steps import throwaway
from lamplighter.adapters.slack.secret import SlackSecret
from lamplighter.clock import monotonic
from lamplighter.domain.slack.asked import signature
from lamplighter.errors import OutsideFailed

ANSWERED_WITHIN = timedelta(seconds=3)
"""The aim of docs/reference/performance.md for a cold answer."""
TAKEN_WITHIN = 0.3
"""The aim for the address, in seconds. It is not judged: the way from here to the region counts in it."""
LOGGED_WITHIN = timedelta(minutes=3)
ANSWER, DROPPED = "SlackAnswer", "SlackDropped"
_TEXT = "help + ~ 100% (é 한)"
"""Characters that each part of the way could write otherwise. The signature is of the bytes as they are sent."""


@dataclass(frozen=True)
class Report:
    """What Lambda reports of an invocation, in milliseconds; `init` is None where the function was warm."""

    duration: float
    init: float | None


def _fits(account: Account) -> None:
    if account.lab.lab.slack is None:
        raise Unfit("the lab has no Slack")


def _play(play: Play) -> None:
    account = play.account
    outputs = account.lab.outputs
    if "SlackUrl" not in outputs:
        raise Unfit("the lab is not deployed with Slack")
    secret = SlackSecret(outputs["SlackSecretArn"]).get().signing_secret
    if not secret:
        raise Unfit("nobody has stored the secrets of the Slack app yet")
    since = account.clock()
    signed, took = _post(account, outputs["SlackUrl"], secret)
    play.evidence(
        f"the address answered 200 without a body after {took * 1000:.0f} ms, seen from here"
        f" (aim {TAKEN_WITHIN * 1000:.0f} ms in the region)"
    )
    account.until(
        "the function takes a request that Slack has signed",
        LOGGED_WITHIN,
        lambda: account.lab.ledger.seen(signed) is not None,
    )
    account.until("the function's log has the answer", LOGGED_WITHIN, lambda: bool(_answers(account, since)))
    [(seconds, report), *_] = _answers(account, since)
    unsigned, _ = _post(account, outputs["SlackUrl"], None)
    account.until(
        "the function drops a request that Slack has not signed",
        LOGGED_WITHIN,
        lambda: any(DROPPED in line for lines in _log(account, since).values() for line in lines),
    )
    if account.lab.ledger.seen(unsigned) is not None:
        raise Differs("the function answered a request that Slack has not signed")
    play.evidence("the signed request was answered, and the unsigned one was dropped")
    if report.init is None:
        raise Unfit(
            f"the function was warm, and answered after {seconds:.2f} s: this says nothing of a cold start;"
            " play the step again after an hour without a request"
        )
    cold = (
        f"cold, it answered {seconds:.2f} s after the address took the request: {report.init:.0f} ms of Init"
    )
    play.evidence(f"{cold}, {report.duration:.0f} ms of work")
    if seconds > ANSWERED_WITHIN.total_seconds():
        raise Differs(f"a cold answer took more than {ANSWERED_WITHIN.total_seconds():.0f} s")


def _post(account: Account, address: str, secret: str | None) -> tuple[str, float]:
    """Post a command as Slack does; without a secret the signature is wrong. Returns the request's key and seconds."""
    slack = account.lab.lab.slack
    form = {
        "team_id": slack.team if slack and slack.team else "T0VERIFY",
        "user_id": "U0VERIFY",
        "user_name": "lamplighter-verify",
        "command": f"/{slack.command if slack else ''}",
        "text": "help",
        "trigger_id": f"{throwaway.STACK} {_TEXT}",
    }
    body, stamp = urlencode(form).encode(), str(int(account.clock().timestamp()))
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature.signed(secret or "not-the-secret", stamp, body),
    }
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")  # noqa: S310 -- the lab's own
    began = monotonic()
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            status, content = answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        status, content = refused.code, b""
    except (OSError, HTTPException) as error:
        raise OutsideFailed(f"the lab's address for Slack did not answer: {error}") from error
    if status != 200 or content:  # noqa: PLR2004
        raise Differs(f"the address answered {status} with {len(content)} bytes, not 200 with none")
    return signature.key_of(stamp, body), monotonic() - began


def _answers(account: Account, since: datetime) -> list[tuple[float, Report]]:
    """The seconds of each answer since an instant, with Lambda's report of its invocation."""
    found: list[tuple[float, Report]] = []
    for lines in _log(account, since).values():
        seconds: float | None = None
        for line in lines:
            document = _document(line)
            if ANSWER in document:
                seconds = document[ANSWER]
            elif seconds is not None and (report := reported(document)):
                found.append((seconds, report))
                seconds = None
    return found


def reported(document: Mapping[str, Any]) -> Report | None:
    """The report of an invocation in a line of the log.

    https://docs.aws.amazon.com/lambda/latest/dg/telemetry-schema-reference.html#platform-report
    """
    if document.get("type") != "platform.report":
        return None
    metrics = document["record"]["metrics"]
    return Report(metrics["durationMs"], metrics.get("initDurationMs"))


def _document(line: str) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _log(account: Account, since: datetime) -> dict[str, list[str]]:
    """The lines of the function's log since an instant, by their stream."""
    group = f"/aws/lambda/{account.lab.name}-slack"
    lines: dict[str, list[str]] = {}
    request: dict[str, object] = {"logGroupName": group, "startTime": int(since.timestamp() * 1000)}
    while True:
        page = account.call("logs", "filter_log_events", group, **request)
        for event in page["events"]:
            lines.setdefault(event["logStreamName"], []).append(event["message"])
        if "nextToken" not in page:
            return lines
        request["nextToken"] = page["nextToken"]


STEP = Step(
    name="slack",
    asks="post `help` to the lab's address as Slack does, once signed and once not",
    passes="the signed request is answered, the other one is dropped, and a cold answer comes within 3 seconds",
    longest=timedelta(minutes=15),
    play=_play,
    fits=_fits,
    makes="two marks in the ledger, which expire",
)
