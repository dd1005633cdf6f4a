"""The school's web site, with the course calendar that a window of the lab follows: HTTP in the place of sockets."""

import io
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from lamplighter.adapters.calendars import web
from tests.world.outside import Passage

ADDRESS = "https://school.example/course.ics?key=secret"
COURSE = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:school\r\nBEGIN:VEVENT\r\nUID:1@school\r\nDTSTAMP:20260101T000000Z\r\n"
    "SUMMARY:Deep learning\r\nDTSTART:20261121T140000Z\r\nDTEND:20261121T160000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


class Connection:
    """A socket to the site: it answers whatever it is asked with the calendar."""

    def __init__(self, cross: Passage) -> None:
        self._status, text = cross("https", "GET", lambda: (200, COURSE))
        self._body = str(text).encode()

    def sendall(self, _data: bytes) -> None:
        """The question is always the same."""

    def makefile(self, _mode: str) -> io.BytesIO:
        head = f"HTTP/1.1 {self._status} Said\r\nContent-Length: {len(self._body)}\r\n\r\n"
        return io.BytesIO(head.encode() + self._body)

    def shutdown(self, _how: int) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is left open."""


@contextmanager
def school(cross: Passage) -> Iterator[None]:
    """The site stands in the place of sockets and TLS, for calendars alone."""
    sockets = SimpleNamespace(
        getaddrinfo=lambda *_name, **_kind: [(2, 1, 6, "", ("8.8.8.8", 443))],
        create_connection=lambda *_address, **_wait: Connection(cross),
        **dict.fromkeys(("SOCK_STREAM", "AF_INET", "SHUT_RDWR"), 2),
    )
    trusts: Any = SimpleNamespace(wrap_socket=lambda plain, server_hostname: plain)
    tls = SimpleNamespace(create_default_context=lambda: trusts, SSLError=ssl.SSLError)
    # Slack's site stands in the place of the class for https.
    plain = patch.object(web, "HTTPSConnection", HTTPConnection)
    with patch.object(web, "socket", sockets), patch.object(web, "ssl", tls), plain:
        yield
