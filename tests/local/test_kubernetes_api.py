"""What the simulator's own client does when the API server ends a watch."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import certifi
import pytest

from local.kubernetes.api import KubernetesApi
from tests.steady.hang import HANG_SECONDS

WATCHES = 200
LISTING = {"items": [], "metadata": {"resourceVersion": "1"}}


class Brief(BaseHTTPRequestHandler):
    """An API server whose watches end at once."""

    protocol_version = "HTTP/1.1"
    watches = 0

    def do_GET(self):
        Brief.watches += "watch" in self.path
        body = b"" if "watch" in self.path else json.dumps(LISTING).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def at_any_moment():
    """Threads take turns between any two steps."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.once_flaky("a watch ended by itself while it was hung up")
@pytest.mark.usefixtures("at_any_moment")
def test_hanging_up_bears_watches_that_end_at_that_moment():
    stop = threading.Event()
    with ThreadingHTTPServer(("127.0.0.1", 0), Brief) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        api = KubernetesApi(f"http://127.0.0.1:{server.server_port}", Path(certifi.where()))
        followers = [
            threading.Thread(target=api.follow, args=(f"/{n}", lambda *_: None, stop), daemon=True)
            for n in range(4)
        ]
        for each in followers:
            each.start()
        try:
            while Brief.watches < WATCHES:
                api.hang_up()
        finally:
            stop.set()
            server.shutdown()
    for each in followers:
        each.join(HANG_SECONDS)
    assert not any(each.is_alive() for each in followers)
