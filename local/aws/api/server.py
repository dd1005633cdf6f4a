"""One HTTP port on 127.0.0.1 for all of the embedded AWS.

It routes each request: our own pages by path, then our own services, then moto by the service in the signature. It also
sets the `Date` header to the virtual time. moto (moto_dispatch.py) and our services do the work; iam.py checks
permissions.
"""

import io
import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from wsgiref.handlers import format_date_time

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from local.aws.api.moto_dispatch import Environ, Moto, caller
from local.aws.api.own_services import application
from local.aws.api.service_context import FIBER_HEADER
from local.clock import VirtualClock
from local.clock_fibers import Fiber

Headers = list[tuple[str, str]]
#: Our services name in this header the caller for whom they call another service, in WSGI's spelling.
SENDER = "HTTP_" + FIBER_HEADER.replace("-", "_").upper()
#: WSGI does not keep how the names of headers are written.
SENT_HEADERS = "lamplighter.headers"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A request to one of our own pages."""

    method: str
    path: str  # below the page's prefix, percent-decoded
    raw_path: str  # as sent, prefix included
    query: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    address: str
    #: Names as they were sent; the last value of a name.
    sent_headers: Mapping[str, str]


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Page = Callable[[Request], Response]
#: Called after every AWS call, before its reply is sent: (access key id, service).
Observer = Callable[[str, str], None]


class Application:
    """Decides who answers a request: a page of ours, a service of ours, or moto."""

    def __init__(self, clock: VirtualClock) -> None:
        self.pages: dict[str, Page] = {"/_lamplighter/health": lambda _: Response(body=b"ok\n")}
        self.observers: list[Observer] = []
        #: The same, before the call is carried out.
        self.heralds: list[Observer] = []
        #: Our own services by signing name. They answer instead of moto.
        self.services: dict[str, Any] = {}
        self.moto = Moto()
        self._clock = clock
        #: The fiber that calls with an access key: the fiber of a function.
        self.strand_of: Callable[[str], Fiber | None] = lambda _: None

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        with self._clock.serving(self._sender(environ)):
            return self._answer(environ, start_response)

    def _sender(self, environ: Environ) -> Fiber | None:
        """The fiber that waits for the answer, if it is one of this cloud's."""
        number = environ.get(SENDER)
        if number is not None:
            return self._clock.numbered(int(number))
        return self.strand_of(caller(environ)[0]) or self._clock.host()

    def _answer(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        for prefix, page in self.pages.items():
            if path == prefix or path.startswith(prefix + "/"):
                return _answer(page, prefix, environ, start_response)
        key, service = caller(environ)
        for herald in self.heralds:
            herald(key, service)
        reply = list((self.services.get(service) or self.moto)(environ, start_response))
        for observer in self.observers:
            observer(key, service)
        return reply


def _answer(page: Page, prefix: str, environ: Environ, start_response: Any) -> Iterable[bytes]:
    names = {
        key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")
    }
    names["content-type"] = environ.get("CONTENT_TYPE", "")
    response = page(
        Request(
            method=environ["REQUEST_METHOD"],
            path=environ["PATH_INFO"][len(prefix) :],
            raw_path=environ["RAW_URI"].partition("?")[0],
            query=environ["QUERY_STRING"],
            headers=names,
            body=environ["wsgi.input"].read(),
            address=environ["REMOTE_ADDR"],
            sent_headers=environ[SENT_HEADERS],
        )
    )
    start_response(f"{response.status} -", list(response.headers.items()))
    return [response.body]


class Handler(MotoRequestHandler):  # type: ignore[misc]
    """HTTP/1.1 with keep-alive, which Werkzeug's own handler refuses. Bodies are short, so they are read whole."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body are sent together

    def run_wsgi(self) -> None:
        environ: Environ = self.make_environ()
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        length = int(self.headers.get("Content-Length") or 0)
        body = environ["wsgi.input"].read(*([] if environ.get("wsgi.input_terminated") else [length]))
        environ["wsgi.input"] = io.BytesIO(body)
        environ[SENT_HEADERS] = dict(self.headers.items())
        sent: list[tuple[str, Headers]] = []

        def start_response(status: str, headers: Headers, _: object = None) -> None:
            sent[:] = [(status, headers)]

        try:
            reply = b"".join(self.server.app(environ, start_response))
        except SystemExit:
            # The clock stopped while the request waited: the cloud is down, and this thread ends.
            self.close_connection = True
            return
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            # On one line, because the stack between the two calls belongs to a web framework.
            what = f"{self.command} {self.path}: {error!r} at {where.filename}:{where.lineno}"
            log.error("the embedded AWS failed on %s", what, exc_info=log.isEnabledFor(logging.DEBUG))  # noqa: TRY400
            sent[:] = [("500 Internal Server Error", [("Content-Type", "text/plain")])]
            reply = b"the embedded AWS failed, see its log"
        status, headers = sent[0]
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in headers:
            if name.lower() not in {"content-length", "connection", "date", "server"}:
                self.send_header(name, value)
        of_head = [value for name, value in headers if name.lower() == "content-length"]
        self.send_header(
            "Content-Length", of_head[0] if self.command == "HEAD" and of_head else str(len(reply))
        )
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply)

    def version_string(self) -> str:
        return "lamplighter-local"

    def date_time_string(self, timestamp: float | None = None) -> str:
        return format_date_time(self.server.clock.time() if timestamp is None else timestamp)

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 (Werkzeug's name)
        if type == "error":
            log.error(message, *args)


class Server:
    """The running server; `endpoint` is its address."""

    def __init__(self, clock: VirtualClock) -> None:
        self.application = Application(clock)
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", 0, self.application, threaded=True, request_handler=Handler
        )
        vars(self._server).update(daemon_threads=True, clock=clock)
        self.port: int = self._server.server_port
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="aws", daemon=True).start()

    def own(self, signing_name: str, service: object) -> None:
        """Lets one of our service objects answer instead of moto (see own_services.py)."""
        self.application.services[signing_name] = application(signing_name, service)

    def locked(self, service: str) -> AbstractContextManager[object]:
        """Hold this while touching the moto backend of `service` in this process."""
        return self.application.moto.locked(service)

    def page(self, prefix: str, page: Page) -> None:
        """Answer everything at and below `prefix` with `page`."""
        self.application.pages[prefix] = page

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
