"""Reads a course calendar at an address: over https, with limits, and from public IP addresses only.

The address comes from a lab file, but strangers decide where its name leads. So this module resolves every host,
redirected ones too, and connects to public IP addresses only. An address may hold a secret, because calendars are often
shared by one: messages name its host alone.
"""

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from typing import TypeAlias
from urllib.parse import SplitResult, urljoin, urlsplit

from lamplighter.adapters.border import border
from lamplighter.adapters.calendars.text import LARGEST
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.reasons.reason import Said, reason

SECONDS = 10.0
"""For the whole reading: names, redirects and content."""
MOST_REDIRECTS = 3
HTTPS = 443
_CHUNK = 16 * 1024
_OK, _MOVED, _REFUSED = 200, (301, 302, 303, 307, 308), (401, 403)

Resolve: TypeAlias = Callable[[str], Sequence[str]]
Connect: TypeAlias = Callable[[str, int, float], socket.socket]


@border
def fetch(
    address: str,
    resolve: Resolve | None = None,
    connect: Connect | None = None,
    context: ssl.SSLContext | None = None,
    authorization: str | None = None,
) -> bytes:
    """The content at an https address. BadInput for an address that is not read, OutsideFailed if reading fails.

    `authorization` is sent to the host of the address, and no more once it redirects to another one.
    """
    until = time.monotonic() + SECONDS
    reader = _Reader(resolve or _resolve, connect or _connect, context or ssl.create_default_context(), until)
    for _ in range(MOST_REDIRECTS + 1):
        found = reader.read(address, authorization)
        if isinstance(found, bytes):
            return found
        authorization = authorization if host_of(found) == host_of(address) else None
        address = found
    raise OutsideFailed(reason("calendar.web.redirects", host=host_of(address), most=MOST_REDIRECTS))


def host_of(address: str) -> Said:
    """The only part of an address that may be shown."""
    try:
        return urlsplit(address).hostname or reason("calendar.web.address")
    except ValueError:
        return reason("calendar.web.address")


class _Reader:
    def __init__(self, resolve: Resolve, connect: Connect, context: ssl.SSLContext, until: float) -> None:
        self._resolve, self._connect, self._context, self._until = resolve, connect, context, until

    def read(self, address: str, authorization: str | None) -> bytes | str:
        """The content, or the address that it redirects to."""
        parts = _checked(address)
        host = parts.hostname or ""
        try:
            with closing(self._open(host)) as connection, self._ends(connection):
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                headers = {"Accept": "text/calendar, text/plain;q=0.5", "User-Agent": "lamplighter"}
                if authorization is not None:
                    headers["Authorization"] = authorization
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                if answer.status in _MOVED:
                    return urljoin(address, answer.getheader("Location") or "")
                if answer.status != _OK:
                    status = f"{answer.status} {str(answer.reason)[:60]}".rstrip()
                    code = "calendar.web.status"
                    if answer.status in _REFUSED:
                        code = f"calendar.web.{'no-login' if authorization is None else 'wrong-login'}"
                    raise OutsideFailed(reason(code, host=host, status=status))
                return self._body(answer, host)
        # ValueError: an invalid host name, or a redirect to an invalid address.
        except (OSError, HTTPException, ValueError) as error:
            raise OutsideFailed(reason("calendar.web.unreadable", host=host, detail=_detail(error))) from None

    @contextmanager
    def _ends(self, connection: HTTPSConnection) -> Iterator[None]:
        """Close the connection when the time is over: a time-out alone starts again with every byte."""
        line: socket.socket = connection.sock

        def hang_up() -> None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

        watch = threading.Timer(self._left(), hang_up)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def _open(self, host: str) -> HTTPSConnection:
        inside = []
        for found in self._resolve(host):
            if not _is_public(found):
                inside.append(found)
                continue
            # The checked address, as the name may lead elsewhere a moment later; the certificate is for the name.
            plain = self._connect(found, HTTPS, self._left())
            connection = HTTPSConnection(host, timeout=self._left())
            connection.sock = self._context.wrap_socket(plain, server_hostname=host)
            return connection
        if inside:
            raise BadInput(reason("calendar.web.inside", host=host, address=inside[0]))
        raise OutsideFailed(reason("calendar.web.no-address", host=host))

    def _body(self, answer: HTTPResponse, host: str) -> bytes:
        content = bytearray()
        while chunk := answer.read1(_CHUNK):
            content += chunk
            if len(content) > LARGEST:
                raise BadInput(reason("calendar.file.too-large", kib=LARGEST // 1024))
        if time.monotonic() > self._until:
            raise OutsideFailed(reason("calendar.web.slow", host=host, seconds=int(SECONDS)))
        if answer.length:
            raise OutsideFailed(reason("calendar.web.hung-up", host=host))
        return bytes(content)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise BadInput(reason("calendar.web.no-url")) from None
    if not parts.hostname:
        raise BadInput(reason("calendar.web.no-url"))
    if parts.scheme != "https":
        raise BadInput(reason("calendar.web.not-https", scheme=parts.scheme))
    if port not in {None, HTTPS} or parts.username is not None:
        raise BadInput(reason("calendar.web.port-or-user"))
    if not (parts.path + parts.query).isascii() or any(mark.isspace() for mark in parts.path + parts.query):
        raise BadInput(reason("calendar.web.not-ascii"))
    return parts


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if mapped is not None:
        found = mapped
    return found.is_global and not found.is_multicast


def _resolve(host: str) -> Sequence[str]:
    # IPv4 first: functions outside a VPC have no IPv6.
    found = socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    ordered = sorted(found, key=lambda each: each[0] != socket.AF_INET)
    return [str(each[4][0]) for each in ordered]


def _connect(address: str, port: int, timeout: float) -> socket.socket:
    return socket.create_connection((address, port), timeout=timeout)


def _detail(error: Exception) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())[:120]
