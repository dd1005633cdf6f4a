"""`lamplighter local slack`: types a command as Slack would post it, signed, and shows the answer as text.

It plays Slack for the embedded cloud alone: the answer comes to an address on this machine, which AWS could not reach.
"""

import json
import threading
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from cli import printing
from cli.local import cloud_file
from cli.options import AsJson
from lamplighter.domain.slack.asked import signature
from lamplighter.errors import OutsideFailed
from lamplighter.values import instant

ANSWERED_WITHIN = 60.0
"""Seconds for a decision. A command is decided within a few."""


def slack(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to type after /gpu.")],
    user: Annotated[
        str, typer.Option("--as", metavar="ID", help="Who types it: a Slack id such as U0123456789.")
    ],
    cloud: Annotated[
        Path, typer.Option("--cloud", metavar="FILE", help="The file of `local up --json FILE`.")
    ] = Path("cloud.json"),
    team: Annotated[
        str, typer.Option("--team", metavar="ID", help="The workspace, where the lab names one.")
    ] = "T0123456789",
    as_json: AsJson = False,
) -> None:
    """Type a command in Slack, on a running embedded cloud, and print the answer.

    The request is signed as Slack signs it, and takes the same path. Exit code 0: answered. 3: no answer came, for
    example because the lab does not have Slack.

    \b
    Examples:
      lamplighter local slack --as U0123456789 status
      lamplighter local slack --as U0123456789 "open 1 for 1h"
    """
    address, secret, clock = cloud_file.read(
        cloud, ("slack", "url"), ("slack", "signing_secret"), ("clock", "url")
    )
    with _answers() as (response_url, answered, answers):
        form = {
            "command": "/gpu",
            "text": " ".join(text),
            "user_id": user,
            "user_name": user.lower(),
            "team_id": team,
            "channel_id": "C0123456789",
            "trigger_id": uuid.uuid4().hex,
            "response_url": response_url,
        }
        _post(address, secret, clock, urlencode(form).encode())
        if not answered.wait(ANSWERED_WITHIN):
            raise OutsideFailed(f"the lab has not answered within {ANSWERED_WITHIN:.0f} s", "POST", address)
    if as_json:
        printing.as_json(answers[0])
        return
    printing.say_each(str(answers[0].get("text", "")).splitlines())
    for label in _labels(answers[0]):
        printing.say(f"[{label}]")


def _post(address: str, secret: str, clock: str, body: bytes) -> None:
    """The signed request, at the cloud's own time."""
    try:
        with urllib.request.urlopen(clock, timeout=10) as reply:  # noqa: S310 -- from the cloud's own file
            now = instant.read(str(json.load(reply)["now"]))
        stamp = str(int(now.timestamp()))
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature.signed(secret, stamp, body),
        }
        request = urllib.request.Request(address, data=body, headers=headers, method="POST")  # noqa: S310
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310
            pass
    except (OSError, ValueError, KeyError) as error:
        raise OutsideFailed(
            f"the embedded cloud does not answer: {error}; start it with `lamplighter local up`"
        ) from error


@contextmanager
def _answers() -> Iterator[tuple[str, threading.Event, list[dict[str, Any]]]]:
    """A response_url on this machine, an event for the first answer, and the answers."""
    answers: list[dict[str, Any]] = []
    answered = threading.Event()

    class ResponseUrl(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answers.append(json.loads(content))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
            answered.set()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name of http.server
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), ResponseUrl)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/answer", answered, answers
    finally:
        server.shutdown()
        server.server_close()


def _labels(answer: dict[str, Any]) -> Iterator[str]:
    """The labels of the buttons and choices under an answer."""
    for block in answer.get("blocks", []):
        for element in block.get("elements", []) if block.get("type") == "actions" else []:
            label = element.get("text") or element.get("placeholder") or {}
            yield str(label.get("text", ""))
