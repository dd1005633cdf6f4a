"""The lab's address for people on this machine: what API Gateway does with a signed request, before our function.

Whose the key is, it knows; what it is signed with is judged by the embedded cloud's own authoriser, in
tests/local/aws/api/test_http_api.py.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from handlers import commands
from lamplighter.application import environment
from lamplighter.lab.model import Lab
from tests.unit.lab_on_moto import LEDGER, LabOnMoto

USER = "arn:aws:iam::123456789012:user/moto"
"""Whom moto's STS says the test's credentials belong to."""
VARIABLES = ("OPEN_LAB_ARN", "CLOSE_LAB_ARN", "EXTEND_LEASE_ARN", "CHANGE_LAB_ARN", "EXPERIMENT_ARN")


@contextmanager
def function(monkeypatch: pytest.MonkeyPatch, made: LabOnMoto, lab: Lab | None = None) -> Iterator[None]:
    """The function behind the address, in the lab's environment; every workflow is the one that there is."""
    file = made.clock.parent / "lab.json"
    file.write_text((lab or made.lab).to_json(), "utf-8")
    for name, value in {
        "LAB_FILE": str(file),
        "LEDGER_TABLE": LEDGER,
        **dict.fromkeys(VARIABLES, made.close_lab),
    }.items():
        monkeypatch.setenv(name, value)
    forget = (commands.command_services.cache_clear, environment.lab.cache_clear)
    for each in forget:
        each()
    yield
    for each in forget:
        each()


def event(path: str, body: object, arn: str | None = USER) -> dict[str, Any]:
    """What API Gateway hands over for a POST by the holder of these credentials."""
    context: dict[str, Any] = {"routeKey": f"POST /{path}"}
    if arn is not None:
        context["authorizer"] = {"iam": {"userArn": arn}}
    text = body if isinstance(body, str) else json.dumps(body)
    return {"version": "2.0", "requestContext": context, "body": text, "isBase64Encoded": False}


@contextmanager
def address() -> Iterator[tuple[str, list[str]]]:
    """Where to post to, and the paths that were asked for."""
    asked: list[str] = []

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            signed = "AWS4-HMAC-SHA256" in self.headers.get("Authorization", "")
            answer = commands.handler(event(self.path.strip("/"), body, USER if signed else None), None)
            self.send_response(int(str(answer["statusCode"])))
            self.end_headers()
            self.wfile.write(str(answer["body"]).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
