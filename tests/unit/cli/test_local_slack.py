"""`lamplighter local slack` signs a command as Slack does, and prints what comes to its response_url."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from lamplighter.domain.slack.asked import signature
from tests.programs import lamplighter

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"  # Slack's own example
NOW = "2026-11-20T20:00:00Z"
ANSWER = {
    "text": "*gpu* is closed.\nNothing is planned to open.",
    "blocks": [
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Ask"}}]}
    ],
}


class Cloud(BaseHTTPRequestHandler):
    """The clock of an embedded cloud, and an address for Slack that answers signed requests."""

    def do_GET(self) -> None:
        self._reply(json.dumps({"now": NOW}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stamp = self.headers["X-Slack-Request-Timestamp"]
        self._reply(b"")
        if signature.fits(SECRET, stamp, body, self.headers["X-Slack-Signature"]):
            form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
            text = f"{form['user_id']} typed {form['command']} {form['text']} at {stamp}\n{ANSWER['text']}"
            data = json.dumps(ANSWER | {"text": text}).encode()
            with urllib.request.urlopen(form["response_url"], data=data):
                pass

    def _reply(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name of http.server
        """Say nothing."""


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Path]:
    server = HTTPServer(("127.0.0.1", 0), Cloud)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    file = tmp_path / "cloud.json"
    document = {
        "slack": {"url": f"{address}/slack", "signing_secret": SECRET},
        "clock": {"url": f"{address}/clock"},
    }
    file.write_text(json.dumps(document), "utf-8")
    yield file
    server.shutdown()
    server.server_close()


def test_a_signed_command_has_its_answer_as_text(cloud: Path) -> None:
    said = lamplighter("local", "slack", "--cloud", cloud, "--as", "U0STUDENT", "open 1 for 1h")
    assert said.stdout.splitlines() == [
        "U0STUDENT typed /gpu open 1 for 1h at 1795204800",
        "*gpu* is closed.",
        "Nothing is planned to open.",
        "[Ask]",
    ]


def test_a_cloud_that_is_gone_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cloud.json"
    gone = "http://127.0.0.1:9"
    document = {"slack": {"url": gone, "signing_secret": SECRET}, "clock": {"url": gone}}
    file.write_text(json.dumps(document), "utf-8")
    said = lamplighter("local", "slack", "--cloud", file, "--as", "U0STUDENT", "status")
    assert said.returncode == 3
    assert "start it with `lamplighter local up`" in said.stderr
