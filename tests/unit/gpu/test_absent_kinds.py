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
    """An API server that finds nothing, except lists with these items where there are any."""

    items: ClassVar[str] = ""

    def do_GET(self) -> None:
        body = b'{"message": "the server could not find the requested resource"}'
        if self.items:
            body = f'{{"kind": "List", "items": {self.items}}}'.encode()
        self.send_response(200 if self.items else 404)
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


@pytest.mark.parametrize("items", ["{}", '"none"', "7", "null"])
def test_what_is_no_list_is_not_an_empty_one(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, items: str
) -> None:
    monkeypatch.setattr(Absent, "items", items)

    with pytest.raises(OutsideFailed, match="no list of items"):
        connection.list(CLAIMS, served=True)


def test_null_is_how_a_kind_of_the_core_may_write_that_it_has_none(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Absent, "items", "null")

    assert connection.list("/api/v1/pods") == []


@pytest.mark.parametrize("name", ["", "a/../b", "a?b", "a b", "ü"])
def test_a_name_that_no_object_has_is_not_asked_for(connection: Connection, name: str) -> None:
    """DELETE /api/v1/nodes/ would be every node."""
    with pytest.raises(OutsideFailed, match="nothing was asked"):
        connection.ask("DELETE", f"/api/v1/nodes/{name}")
