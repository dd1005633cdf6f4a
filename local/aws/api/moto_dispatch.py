"""Passes calls to moto, one at a time for each service, because moto's backends are not thread-safe.

A service with a single address, such as DynamoDB, answers without a web framework, because half of the time of a call
is the search for the right handler. moto still makes the answer.
"""

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from botocore.exceptions import ClientError
from moto.backends import get_backend
from moto.core.base_backend import BackendDict
from moto.core.request import Request
from moto.core.responses import BaseResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.exceptions import HTTPException

Environ = dict[str, Any]

#: Services whose calls neither block nor call the same service again.
SERIAL = frozenset(
    {"dynamodb", "events", "scheduler", "sns", "ec2", "autoscaling", "ssm", "secretsmanager", "iam", "sts"}
    | {"logs", "monitoring", "s3"}
)

#: The addresses of a service are the same in each region.
_ANY_ACCOUNT = "123456789012"


class Moto(DomainDispatcherApplication):  # type: ignore[misc]
    """moto's own dispatching, one call at a time for each service."""

    def __init__(self) -> None:
        super().__init__(_application)
        self._backends: dict[str | None, Any] = {}
        self._locks = {service: threading.RLock() for service in SERIAL}

    def locked(self, service: str) -> AbstractContextManager[object]:
        """Hold this while touching the moto backend of `service` in this process."""
        return self._locks.get(service) or nullcontext()

    def get_backend_for_host(self, host: str | None) -> Any:
        """The backend for a host name, cached. moto lists all its folders for every request, which is half of a
        request's time.
        """
        if host not in self._backends:
            self._backends[host] = super().get_backend_for_host(host)
        return self._backends[host]

    def infer_service_region_host(self, environ: Environ, path: str) -> str | None:
        """As moto does, except for a presigned URL: it goes to the service in its credential, not to S3."""
        credential = parse_qs(environ.get("QUERY_STRING", "")).get("X-Amz-Credential")
        if credential and not environ.get("HTTP_AUTHORIZATION"):
            _, _, region, service, _ = credential[0].split("/")
            return f"{service}.{region}.amazonaws.com"
        host: str | None = super().infer_service_region_host(environ, path)
        return host

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        with self.locked(caller(environ)[1]):
            return list(super().__call__(environ, start_response))


def caller(environ: Environ) -> tuple[str, str]:
    """Access key id and service of a signed call; empty for an unsigned call."""
    credential = (
        environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition(",")[0].split("/")
    )
    return (credential[0], credential[3]) if len(credential) == 5 else ("", "")  # noqa: PLR2004 (SigV4's scope)


def _application(service: Any) -> Any:
    """The WSGI application of a moto service: its only handler if it has one address, otherwise moto's own."""
    backends = get_backend(service)
    if isinstance(backends, BackendDict):
        account = backends[_ANY_ACCOUNT]
        backend = account["us-east-1" if "us-east-1" in account else "aws"]
        paths = backend.flask_paths
        front = getattr(paths.get("/"), "__self__", None)
        if list(paths) == ["/"] and isinstance(front, type) and issubclass(front, BaseResponse):
            return _Direct(front)
    return create_backend_app(service)


class _Direct:
    """One of moto's handlers as a WSGI application. It calls the handler as moto's Flask does."""

    def __init__(self, front: type[BaseResponse]) -> None:
        self._front = front

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        request.from_wsgi_server = True
        try:
            status, headers, body = self._front.dispatch(request)
        except ClientError as error:
            status, headers, body = 400, {}, error.response["Error"]["Message"]
        except HTTPException as refusal:
            refused: Iterable[bytes] = refusal.get_response(environ)(environ, start_response)
            return refused
        code = HTTPStatus(int(status))
        start_response(f"{code.value} {code.phrase}", [(name, str(value)) for name, value in headers.items()])
        return [body.encode() if isinstance(body, str) else body]
