"""A command that the lab's address has no room for is given again after a while, and never looked at twice."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from lamplighter.adapters.aws.commands_api import CommandsApi
from lamplighter.errors import OutsideFailed, TryLater
from stacks.constructs.http.throttle import COMMANDS


class Address:
    """An address that gives these codes one after another, the last one for ever; and the clock of its lab."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.commands: list[str] = []
        self.pauses: list[float] = []
        self.url = ""

    def answer(self, path: str, body: bytes) -> int:
        if path == "/sleep":
            self.pauses.append(float(body))
            return 200
        self.commands.append(path)
        return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    def send(self) -> object:
        return CommandsApi(self.url, "ap-northeast-2").send("own/open", {"pool": "gpu"})


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    made = Address()

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            code = made.answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps({"message": "as it is"}).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Gateway) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("LAMPLIGHTER_SLEEP", f"{made.url}/sleep")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield made
        server.shutdown()


def test_too_many_requests_and_no_room_pass(address: Address) -> None:
    address.codes = [429, 503, 202]
    assert address.send() == {"message": "as it is"}
    assert len(address.commands) == 3
    assert len(address.pauses) == 2
    assert all(1 <= pause <= 3 for pause in address.pauses)


@pytest.mark.parametrize("code", [429, 503])
def test_what_stays_without_room_says_to_ask_again(address: Address, code: int) -> None:
    address.codes = [code]
    with pytest.raises(TryLater, match="too many requests at once, ask again in a moment"):
        address.send()
    assert len(address.commands) == len(address.pauses) + 1
    # A class of thirty, of which the address takes one a second.
    assert sum(address.pauses) > 30 / COMMANDS.requests_a_second


def test_a_failure_is_asked_once_more_and_waits_for_nothing(address: Address) -> None:
    address.codes = [500]
    with pytest.raises(OutsideFailed, match="failed with 500"):
        address.send()
    assert (len(address.commands), address.pauses) == (2, [])
