"""The output of the containers of all simulated nodes, and the HTTPS server that gives it to the API server.

For `kubectl logs`, the API server asks the kubelet. Here one server answers for every node.
"""

import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from local.clock import VirtualClock

Container = tuple[str, str, str]
"""Namespace, pod, container."""


@dataclass
class Output:
    """The output of one run of a container; `done` once it has ended."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    done: bool = False


class Logs:
    """The lines of each container, of the present run and the one before."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._runs: dict[Container, list[Output]] = {}
        self._changed = threading.Condition()

    def begin(self, container: Container) -> None:
        """Starts a new run of the container."""
        with self._changed:
            self._runs[container] = [*self._runs.get(container, [])[-1:], Output()]

    def add(self, container: Container, text: str) -> None:
        at = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with self._changed:
            if container in self._runs:  # a real program may print after its pod is gone
                self._runs[container][-1].lines += [(at, line) for line in text.splitlines()]
            self._changed.notify_all()

    def end(self, container: Container) -> None:
        with self._changed:
            if container in self._runs:
                self._runs[container][-1].done = True
            self._changed.notify_all()

    def forget(self, namespace: str, pod: str) -> None:
        """The pod or its node is gone."""
        with self._changed:
            for container in [one for one in self._runs if one[:2] == (namespace, pod)]:
                for run in self._runs.pop(container):
                    run.done = True
            self._changed.notify_all()

    def find(self, container: Container, *, previous: bool) -> Output | None:
        with self._changed:
            runs = self._runs.get(container, [])
            if previous:
                return runs[-2] if len(runs) > 1 else None
            return runs[-1] if runs else None

    def await_more(self, output: Output, seen: int) -> bool:
        """True when there are more than `seen` lines; False when no more will come."""
        with self._changed:
            self._changed.wait_for(lambda: output.done or len(output.lines) > seen)
            return len(output.lines) > seen


class KubeletServer:
    """Serves `/containerLogs/…` over TLS on loopback; `certificate` and `key` are files."""

    def __init__(self, logs: Logs, certificate: Path, key: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                # The handshake runs on the connection's own thread; otherwise one slow client would block all others.
                self.request = context.wrap_socket(self.request, server_side=True)
                super().setup()

            def do_GET(self) -> None:
                _answer(self, logs)

            def log_message(self, *_: object) -> None:
                """Writes nothing: nobody reads a kubelet's access log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="kubelet-server", daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(request: BaseHTTPRequestHandler, logs: Logs) -> None:
    address = urlsplit(request.path)
    asked = {name: values[0] for name, values in parse_qs(address.query).items()}
    parts = address.path.strip("/").split("/")
    output = None
    if len(parts) == 4 and parts[0] == "containerLogs":  # noqa: PLR2004  namespace, pod, container
        output = logs.find((parts[1], parts[2], parts[3]), previous=asked.get("previous") == "true")
    if output is None:
        request.send_error(404, "container not found")
        return
    request.send_response(200)
    request.send_header("Content-Type", "text/plain")
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    left = int(asked["limitBytes"]) if "limitBytes" in asked else None
    seen = max(0, len(output.lines) - int(asked["tailLines"])) if "tailLines" in asked else 0
    while True:
        for at, line in output.lines[seen:]:
            seen += 1
            text = f"{at} {line}\n" if asked.get("timestamps") == "true" else f"{line}\n"
            chunk = text.encode()[:left]
            left = None if left is None else left - len(chunk)
            if chunk:
                request.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        request.wfile.flush()
        if asked.get("follow") != "true" or left == 0 or not logs.await_more(output, seen):
            break
    request.wfile.write(b"0\r\n\r\n")
