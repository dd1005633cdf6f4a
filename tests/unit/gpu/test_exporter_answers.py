"""A pod answers behind the API server as it likes: the guard waits and keeps only so much of it, and goes nowhere."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from lamplighter.adapters.kubernetes import gpu_metrics
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.gpu.gpu_use import LARGEST
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT
from tests.unit.gpu.test_cluster_authority import Authority, Signed


class Exporter(BaseHTTPRequestHandler):
    """Answers as its pod's name says."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        how = self.path.split("/")[6].partition(":")[0]
        self.send_response({"moved": 302, "failing": 500}.get(how, 200))
        if how == "moved":
            self.send_header("Location", "/api/v1/namespaces/x/pods/elsewhere:1/proxy/metrics")
        self.end_headers()
        piece, pieces = {"huge": (b"#" * LARGEST, 64), "whole": (b"fine\n", 1)}.get(how, (b"#", 10_000))
        with suppress(OSError):
            for _ in range(0 if how == "moved" else pieces):
                self.wfile.write(piece)
                threading.Event().wait(0 if len(piece) > 1 else 0.01)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def connection() -> Iterator[Connection]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Exporter.asked.clear()
    found = Connection(f"http://127.0.0.1:{server.server_port}", Authority.made(named=True).pem, Signed())
    yield found
    server.shutdown()
    server.server_close()


def exporter(name: str) -> PodFacts:
    return PodFacts(namespace="gpu-operator", name=name, node="i-1", phase="Running", created=EIGHT)


def test_a_whole_answer_is_read(connection: Connection) -> None:
    assert gpu_metrics.read(connection, exporter("whole")) == "fine\n"


@pytest.mark.parametrize("how", ["huge", "slow", "failing"])
def test_what_is_huge_or_never_ends_is_not_known(connection: Connection, how: str) -> None:
    connection.read_seconds = 0.3
    with pytest.raises(OutsideFailed, match=how):
        gpu_metrics.read(connection, exporter(how))


def test_nobody_follows_a_pod_to_another_address(connection: Connection) -> None:
    assert gpu_metrics.read(connection, exporter("moved")) is None
    assert len(Exporter.asked) == 1
