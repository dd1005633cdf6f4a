"""A list of a kind that the cluster lacks is empty; a 404 for a kind that it has is no list, and nothing is gone.

What comes in the place of a list is none either.
"""

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.errors import OutsideFailed
from tests.unit.gpu.test_cluster_authority import LOOPBACK, Authority, Signed

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"


class Absent(BaseHTTPRequestHandler):
    """An API server that finds nothing, or answers this."""

    answer: ClassVar[str] = ""

    def do_GET(self) -> None:
        body = b'{"message": "the server could not find the requested resource"}'
        if self.answer:
            body = self.answer.encode()
        self.send_response(200 if self.answer else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    authority = Authority.made(named=True)
    pair = tmp_path / "server.pem"
    pair.write_bytes(authority.server(LOOPBACK))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Absent)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield Connection(f"https://127.0.0.1:{server.server_port}", authority.pem, Signed())
    server.shutdown()
    server.server_close()


def test_what_the_cluster_does_not_know_is_an_empty_list(connection: Connection) -> None:
    assert connection.list(CLAIMS) == []
    assert connection.get("/api/v1/nodes/one") == {}


def test_a_kind_that_the_cluster_has_is_not_empty_because_nobody_finds_it(connection: Connection) -> None:
    with pytest.raises(OutsideFailed, match="404"):
        connection.list("/api/v1/nodes")
    with pytest.raises(OutsideFailed, match="404"):
        connection.list(CLAIMS, served=True)


@pytest.mark.parametrize(
    "answer",
    ["{}", '{"kind": "List"}', '{"items": {}}', '{"items": "none"}', '{"items": 7}', '{"items": null}'],
)
def test_what_is_no_list_is_not_an_empty_one(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(Absent, "answer", answer)

    with pytest.raises(OutsideFailed):
        connection.list(CLAIMS)


@pytest.mark.parametrize("name", ["", "a/../b", "a?b", "a b", "ü"])
def test_a_name_that_no_object_has_is_not_asked_for(connection: Connection, name: str) -> None:
    """DELETE /api/v1/nodes/ would be every node."""
    with pytest.raises(OutsideFailed, match="nothing was asked"):
        connection.ask("DELETE", f"/api/v1/nodes/{name}")
