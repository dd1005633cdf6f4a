"""One HTTP port on 127.0.0.1 for all of the embedded AWS.

It owns routing (our own pages by path, else moto by the service in the signature), the `Date` header in
virtual time, and a lock for each service, since moto's backends are not thread-safe. What a service does is
moto's and the seams' business; who may do it is iam.py's.
"""

import io
import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs
from wsgiref.handlers import format_date_time

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from local.aws.own_services import application
from local.clock import VirtualClock

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
log = logging.getLogger(__name__)

#: Services whose calls neither block nor call back into the same service.
SERIAL = frozenset(
    {"dynamodb", "events", "scheduler", "sns", "ec2", "autoscaling", "ssm", "secretsmanager", "iam", "sts"}
    | {"logs", "monitoring", "s3"}
)


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


@dataclass(frozen=True)
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Page = Callable[[Request], Response]
#: Told of every AWS call when it has been carried out, before its reply leaves: (access key id, service).
Observer = Callable[[str, str], None]


class Moto(DomainDispatcherApplication):  # type: ignore[misc]
    """moto's own dispatching, one call at a time for each service."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._backends: dict[str | None, Any] = {}
        self._locks = {service: threading.RLock() for service in SERIAL}

    def locked(self, service: str) -> AbstractContextManager[object]:
        """Hold this while touching the moto backend of `service` in this process."""
        return self._locks.get(service) or nullcontext()

    def get_backend_for_host(self, host: str | None) -> Any:
        """As moto finds it, once: it lists all its folders for every request, half of what a request costs."""
        if host not in self._backends:
            self._backends[host] = super().get_backend_for_host(host)
        return self._backends[host]

    def infer_service_region_host(self, environ: Environ, path: str) -> str | None:
        """As moto does, and a presigned URL goes to the service that its credential names, not to S3."""
        credential = parse_qs(environ.get("QUERY_STRING", "")).get("X-Amz-Credential")
        if credential and not environ.get("HTTP_AUTHORIZATION"):
            _, _, region, service, _ = credential[0].split("/")
            return f"{service}.{region}.amazonaws.com"
        host: str | None = super().infer_service_region_host(environ, path)
        return host

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        with self.locked(_caller(environ)[1]):
            return list(super().__call__(environ, start_response))


class Application:
    """Decides who answers a request: a page of ours, a service of ours, or moto."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {"/_lamplighter/health": lambda _: Response(body=b"ok\n")}
        self.observers: list[Observer] = []
        #: Services of our own by signing name, instead of moto's.
        self.services: dict[str, Any] = {}
        self.moto = Moto()

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        for prefix, page in self.pages.items():
            if path == prefix or path.startswith(prefix + "/"):
                return _answer(page, prefix, environ, start_response)
        _, service = _caller(environ)
        reply = list((self.services.get(service) or self.moto)(environ, start_response))
        for observer in self.observers:
            observer(*_caller(environ))
        return reply


def _caller(environ: Environ) -> tuple[str, str]:
    """Access key id and service of a signed call, empty where it is not signed."""
    credential = (
        environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition(",")[0].split("/")
    )
    return (credential[0], credential[3]) if len(credential) == 5 else ("", "")  # noqa: PLR2004 (SigV4's scope)


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
        )
    )
    start_response(f"{response.status} -", list(response.headers.items()))
    return [response.body]


class Handler(MotoRequestHandler):  # type: ignore[misc]
    """HTTP/1.1 with keep-alive, which Werkzeug's own handler refuses; bodies are short, so read whole."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def run_wsgi(self) -> None:
        environ: Environ = self.make_environ()
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(self.headers.get("Content-Length") or 0)
        body = environ["wsgi.input"].read(*([] if environ.get("wsgi.input_terminated") else [length]))
        environ["wsgi.input"] = io.BytesIO(body)
        sent: list[tuple[str, Headers]] = []

        def start_response(status: str, headers: Headers, _: object = None) -> None:
            sent[:] = [(status, headers)]

        try:
            reply = b"".join(self.server.app(environ, start_response))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            # In one line: what lies between here and there is a web framework's.
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
        self.application = Application()
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", 0, self.application, threaded=True, request_handler=Handler
        )
        vars(self._server).update(daemon_threads=True, clock=clock)
        self.port: int = self._server.server_port
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="aws", daemon=True).start()

    def own(self, signing_name: str, service: object) -> None:
        """Let a service object of ours answer instead of moto (see own_services.py)."""
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
