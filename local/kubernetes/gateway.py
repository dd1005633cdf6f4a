"""The API server for every client outside the embedded cloud. It is the same server, but its writes are recorded.

The API server cannot reach a simulated pod, so a pod's metrics are served here, to those whom the API server would let
in. The fleet and the controllers call the API server directly; EKS and the kubeconfig name this address instead. A read
here waits until the controllers have answered earlier events, so its result does not depend on the speed of the
machine. The API server still decides who may do what, because tokens pass through unchanged.
"""

import json
import logging
import re
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from local.kubernetes.api import Object
from local.kubernetes.certificates import trusting
from local.kubernetes.upstream import Upstream, pass_between

LOG = logging.getLogger(__name__)
_BUFFER = 65536
#: Headers between client and proxy, or proxy and API server; each pair agrees on its own.
_HOP_BY_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
_OWN = _HOP_BY_HOP | {"host", "content-length", "accept-encoding", "accept", "expect"}
_TOLD_ANEW = _HOP_BY_HOP | {"cache-control", "expires"}
_NO_BODY = frozenset({204, 304})
_BAD = 400
_METRICS = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/:]+):([0-9]{1,5})/proxy/metrics")
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
Served = Callable[[str, str, int], str | None]


class Gateway:
    """`upstream` is the API server's address. `certificate` and `key` are files that its clients trust.

    `written` is called after every successful write, with its path and the answer. `settle` is called before a read.
    `served` gives what a pod, by namespace and name, serves at a port; None where nothing listens.
    """

    def __init__(
        self,
        upstream: str,
        authority: Path,
        certificate: Path,
        key: Path,
        *,
        written: Callable[[str, Object], None] = lambda *_: None,
        settle: Callable[[], None] = lambda: None,
        served: Served = lambda *_: None,
    ) -> None:
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(certificate, key)
        self._upstream = Upstream(upstream, trusting(authority))
        self._server = _Server(serving, self._upstream, written, settle, served)

    @property
    def endpoint(self) -> str:
        return f"https://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="kubernetes-gateway", daemon=True
        ).start()

    def stop(self) -> None:
        """Stops it, with the watches and tunnels that run through it."""
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()
        self._upstream.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        serving: ssl.SSLContext,
        upstream: Upstream,
        written: Callable[[str, Object], None],
        settle: Callable[[], None],
        served: Served,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.serving, self.upstream, self.written, self.settle = serving, upstream, written, settle
        self.served = served
        self.open: set[socket.socket] = set()

    def handle_error(self, *_: object) -> None:
        """Ignores a client that hangs up in the middle."""
        LOG.debug("a connection through the gateway broke off: %r", sys.exception())

    def hang_up(self) -> None:
        for connection in list(self.open):
            with suppress(OSError):
                # Below TLS, so that a thread that reads from it sees the end.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body are sent together
    server: _Server

    def setup(self) -> None:
        # The handshake runs on the connection's own thread; otherwise one slow client would block all others.
        self.request = self.server.serving.wrap_socket(self.request, server_side=True)
        self.server.open.add(self.request)
        super().setup()

    def finish(self) -> None:
        try:
            with suppress(OSError, ValueError):  # the client is gone already
                super().finish()
        finally:
            self.server.open.discard(self.request)
            self.request.close()

    def log_message(self, *_: object) -> None:
        """Writes nothing: the API server has the log."""

    def relay(self) -> None:
        """Passes one request on, and its answer back."""
        if "upgrade" in self.headers.get("Connection", "").lower():
            self._tunnel()
            return
        body = self._body()
        if self.command == "GET":
            self.server.settle()
            if (asked := _METRICS.fullmatch(self.path)) is not None:
                self._show_metrics(asked[1], asked[2], asked[3])
                return
        try:
            connection = self.server.upstream.take()
            self._ask(connection, body)
            answer = connection.getresponse()
        except (OSError, HTTPException) as error:
            self.close_connection = True
            self.send_error(502, explain=f"the API server does not answer: {error!r}")
            return
        try:
            self._answer(answer)
        except BaseException:
            connection.close()
            self.close_connection = True
            raise
        if answer.isclosed() and not answer.will_close:
            self.server.upstream.give_back(connection)
        else:
            connection.close()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = relay  # noqa: N815 (HTTP's)

    def _show_metrics(self, namespace: str, pod: str, port: str) -> None:
        """Answers for a pod, if the API server lets this client through to it."""
        attributes = {"namespace": namespace, "verb": "get", "resource": "pods", "subresource": "proxy"}
        review = {"spec": {"resourceAttributes": attributes | {"name": f"{pod}:{port}"}}}
        headers = {"Authorization": self.headers.get("Authorization", ""), "Content-Type": "application/json"}
        connection = self.server.upstream.take()
        connection.request("POST", _REVIEWS, json.dumps(review), headers)
        answer = connection.getresponse()
        judged = json.loads(answer.read())
        self.server.upstream.give_back(connection)
        status, text = 403, f"pods {pod}:{port} is forbidden: cannot get resource pods/proxy in {namespace}"
        if answer.status >= _BAD:
            status, text = answer.status, str(judged.get("message"))
        elif judged["status"]["allowed"]:
            metrics = self.server.served(namespace, pod, int(port))
            refused = "error trying to reach service: connect: connection refused"
            status, text = (503, refused) if metrics is None else (200, metrics)
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())
        self.wfile.flush()

    def _body(self) -> bytes:
        """The body of the client's request."""
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers

    def _ask(self, connection: HTTPSConnection, body: bytes) -> None:
        connection.putrequest(self.command, self.path, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _OWN:
                connection.putheader(name, value)
        accepted = self.headers.get("Accept")
        if accepted:
            # The answer of a write is read here as well.
            connection.putheader("Accept", accepted if self.command == "GET" else _readable(accepted))
        if body or self.command in {"POST", "PUT", "PATCH"}:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)

    def _answer(self, answer: HTTPResponse) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        follows = query.get("watch") in {"true", "1"} or query.get("follow") in {"true", "1"}
        self._head(answer)
        if self.command == "HEAD" or answer.status in _NO_BODY:
            answer.read()
            self.end_headers()
        elif follows and answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self._stream(answer)
        else:
            body = answer.read()
            if self.command != "GET" and answer.status < _BAD:
                self._note(body)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        self.wfile.flush()

    def _note(self, body: bytes) -> None:
        address = urlsplit(self.path)
        if "dryRun" in parse_qs(address.query):
            return
        with suppress(ValueError):  # an answer that is no object changes none
            self.server.written(address.path, json.loads(body))

    def _head(self, answer: HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        bodiless = self.command == "HEAD" or answer.status in _NO_BODY
        for name, value in answer.getheaders():
            if name.lower() not in _TOLD_ANEW and (bodiless or name.lower() != "content-length"):
                self.send_header(name, value)
        # A client (helm) compares an answer's age with the machine's clock: an answer from a later day stays fresh for
        # days.
        self.send_header("Cache-Control", "no-cache, private")

    def _stream(self, answer: HTTPResponse) -> None:
        """Passes each piece on as soon as it arrives."""
        while piece := answer.read1(_BUFFER):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _tunnel(self) -> None:
        """Passes another protocol (exec, port-forward) through unchanged from here on."""
        self.close_connection = True
        connection = self.server.upstream.fresh()
        upstream = connection.sock
        head = f"{self.requestline}\r\n{self.headers}".replace("\r\n", "\n").replace("\n", "\r\n")
        self.server.open.add(upstream)
        try:
            upstream.sendall(head.encode("latin-1"))
            pass_between(self.request, upstream)
        finally:
            self.server.open.discard(upstream)
            upstream.close()


def _readable(accepted: str) -> str:
    """Asks for JSON if the client accepts that as well."""
    kinds = [kind.strip() for kind in accepted.split(",")]
    json = [kind for kind in kinds if not kind.startswith(("application/vnd.kubernetes", "application/cbor"))]
    return ", ".join(json or kinds)
